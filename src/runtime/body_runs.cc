// SPDX-License-Identifier: Apache-2.0
#include "runtime/body_runs.h"

#include <algorithm>

#include "graph/op_traits.h"
#include "runtime/context.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

bool multiplies(const Graph& body) {
  return std::ranges::any_of(body.nodes,
                             [](const Node& node) { return node.op->traits->macs != nullptr; });
}

}  // namespace

struct BodyRuns::Body {
  // Where a run yields a watched value.
  struct Tap {
    bool is_input = false;
    size_t index = 0;
  };

  std::optional<Context> context;  // nothing: the reference runs it
  std::vector<Dtype> dtypes;       // of the inputs that the context takes
  size_t results = 0;              // outputs of the body itself; watched values follow
  std::vector<Tap> taps;           // of each watched value
};

BodyRuns::BodyRuns(ContextOptions options, std::shared_ptr<PreparedStore> store)
    : options_(std::move(options)), store_(std::move(store)) {}
BodyRuns::~BodyRuns() = default;

BodyRuns::Body& BodyRuns::body_of(const Graph& graph, std::span<const Tensor> inputs) {
  std::unique_ptr<Body>& slot = bodies_[&graph];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<Body>();
  Body& body = *slot;
  body.results = graph.outputs.size();
  const bool watched = watch_ != nullptr && watch_->values.contains(&graph);
  if (!multiplies(graph) && !watched) return body;
  auto model = std::make_shared<Model>();
  model->graph = graph;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& value = model->graph.value(graph.inputs[i]);
    if (value.type.shape.is_unknown()) value.type.dtype = inputs[i].dtype();
    body.dtypes.push_back(value.type.dtype);
  }
  for (const ValueId id : watched ? watch_->values.at(&graph) : std::vector<ValueId>()) {
    const auto input = std::ranges::find(graph.inputs, id);
    if (input != graph.inputs.end()) {
      body.taps.push_back({true, static_cast<size_t>(input - graph.inputs.begin())});
    } else {
      body.taps.push_back({false, model->graph.outputs.size()});
      model->graph.outputs.push_back(id);
    }
  }
  if (options_.pool == nullptr) options_.pool = make_thread_pool(options_.threads);
  body.context.emplace(Inside::context(std::move(model), options_, store_));
  Inside::impl(*body.context).bodies.watch(watch_);
  return body;
}

std::optional<std::vector<Tensor>> BodyRuns::run(const Graph& graph,
                                                 std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs.size()) return std::nullopt;
  Body& body = body_of(graph, inputs);
  const bool fits = std::ranges::equal(inputs, body.dtypes, {}, &Tensor::dtype);
  if (!body.context || !fits) return std::nullopt;
  std::vector<Tensor> outputs = body.context->run(inputs);
  for (size_t i = 0; i < body.taps.size(); ++i) {
    const Body::Tap& tap = body.taps[i];
    watch_->seen(graph, i, tap.is_input ? inputs[tap.index] : outputs[tap.index]);
  }
  outputs.resize(body.results);
  return outputs;
}

}  // namespace octet
