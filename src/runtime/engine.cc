// SPDX-License-Identifier: Apache-2.0
#include "octet/engine.h"

#include "core/memory.h"
#include "plan/prepared_store.h"
#include "runtime/engine_file.h"
#include "runtime/inside.h"

namespace octet {
namespace {

std::vector<TensorInfo> describe_values(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorInfo> infos;
  for (ValueId id : ids) infos.push_back({graph.value(id).name, graph.value(id).type});
  return infos;
}

}  // namespace

Engine Inside::engine(std::shared_ptr<const Model> model) {
  return Engine(std::make_shared<const Engine::Impl>(
      Engine::Impl{std::move(model), std::make_shared<PreparedStore>()}));
}

Engine::Engine(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Engine Engine::load(const std::filesystem::path& path) {
  return without_bad_alloc(
      [&] { return Inside::engine(std::make_shared<const Model>(load_engine(path))); });
}

Engine Engine::load(std::span<const std::byte> bytes) {
  return without_bad_alloc(
      [&] { return Inside::engine(std::make_shared<const Model>(read_engine(bytes))); });
}

void Engine::save(const std::filesystem::path& path) const {
  try {
    without_bad_alloc([&] { save_engine(*impl_->model, path); });
  } catch (Error& error) {
    // What the file system says names the file.
    if (error.code() == Error::Code::out_of_memory)
      error.add_context("saving '" + path.string() + "'");
    throw;
  }
}

std::vector<std::byte> Engine::to_bytes() const {
  return without_bad_alloc([&] { return write_engine(*impl_->model); });
}

std::vector<TensorInfo> Engine::inputs() const {
  const Graph& graph = impl_->model->graph;
  return describe_values(graph, graph.inputs);
}

std::vector<TensorInfo> Engine::outputs() const {
  const Graph& graph = impl_->model->graph;
  return describe_values(graph, graph.outputs);
}

std::optional<Preprocess> Engine::preprocess() const { return impl_->model->preprocess; }

Context Engine::make_context(const ContextOptions& options) const {
  return Inside::context(impl_->model, options, impl_->store);
}

}  // namespace octet
