// SPDX-License-Identifier: Apache-2.0
#include "octet/engine.h"

#include "core/memory.h"
#include "runtime/engine_file.h"

namespace octet {
namespace {

std::vector<TensorInfo> describe_values(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorInfo> infos;
  for (ValueId id : ids) infos.push_back({graph.value(id).name, graph.value(id).type});
  return infos;
}

}  // namespace

Engine::Engine(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

Engine Engine::load(const std::filesystem::path& path) {
  return without_bad_alloc(
      [&] { return Engine(std::make_shared<const Model>(load_engine(path))); });
}

void Engine::save(const std::filesystem::path& path) const {
  without_bad_alloc([&] { save_engine(*model_, path); });
}

std::vector<TensorInfo> Engine::inputs() const {
  return describe_values(model_->graph, model_->graph.inputs);
}
std::vector<TensorInfo> Engine::outputs() const {
  return describe_values(model_->graph, model_->graph.outputs);
}
std::optional<Preprocess> Engine::preprocess() const { return model_->preprocess; }

Context Engine::make_context(const ContextOptions& options) const { return {model_, options}; }

}  // namespace octet
