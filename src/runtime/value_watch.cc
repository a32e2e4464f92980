// SPDX-License-Identifier: Apache-2.0
#include "runtime/value_watch.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "graph/op_traits.h"

namespace octet {
namespace {

thread_local ValueWatch* innermost = nullptr;

constexpr const char* kIndex = "index";

void infer(Inference& inference) { inference.output(Dtype::f32, {1}); }

void eval(const Eval& eval) {
  eval.outputs[0].as<f32>()[0] = 0;
  const ConstView& in = eval.inputs[0];
  if (innermost == nullptr || in.shape.elements() == 0) return;
  // Nobody keeps the view beyond the call.
  const std::shared_ptr<const std::byte> memory(std::shared_ptr<const std::byte>(),
                                                static_cast<const std::byte*>(in.data));
  innermost->seen(static_cast<size_t>(eval.node.attrs.i(kIndex, 0)),
                  Tensor({in.dtype, in.shape}, memory));
}

// What is looked at belongs to whoever looks, not to the run.
f64 no_work(const Node&, TensorTypes, TensorTypes) { return 0; }

constexpr OpTraits kTraits{.work = no_work};

// In no list of operators: no file holds it, and no pass sees it. It reads an input of the run beside the value, which may be a constant
// for some sizes: what depends on constants alone is computed when it is planned or bound.
constexpr OpDef kWatchValue{.name = "WatchValue",
                            .domain = "octet",
                            .inputs = {1, 2},
                            .infer = infer,
                            .eval = eval,
                            .traits = &kTraits};

// Of the reals, if there is one: the run's sizes may follow from the values of others, which are constants then.
ValueId input_of_runs(const Graph& graph) {
  if (graph.inputs.empty()) return kNoValue;
  const auto real = std::ranges::find_if(
      graph.inputs, [&](ValueId id) { return graph.value(id).type.dtype == Dtype::f32; });
  return real != graph.inputs.end() ? *real : graph.inputs[0];
}

Node reader_of(Graph& graph, ValueId value, size_t index) {
  Node node;
  node.op = &kWatchValue;
  node.name = graph.value(value).name + ".watch";
  node.inputs = {value, input_of_runs(graph)};
  node.outputs = {graph.add_value(node.name, {Dtype::f32, {1}})};
  node.attrs.set(kIndex, static_cast<s64>(index));
  graph.outputs.push_back(node.outputs[0]);
  return node;
}

}  // namespace

ValueWatch::Scope::Scope(ValueWatch& watch) : outer_(std::exchange(innermost, &watch)) {}
ValueWatch::Scope::~Scope() { innermost = outer_; }

void add_watches(Graph& graph, std::span<const ValueId> values) {
  constexpr size_t kUnwatched = std::numeric_limits<size_t>::max();
  std::vector<size_t> index(graph.value_count(), kUnwatched);
  for (size_t i = 0; i < values.size(); ++i) index[values[i]] = i;
  std::vector<Node> made = std::exchange(graph.nodes, {});
  std::vector<Node> watched;
  const auto watch = [&](ValueId id) {
    if (id == kNoValue || id >= index.size() || index[id] == kUnwatched) return;
    watched.push_back(reader_of(graph, id, std::exchange(index[id], kUnwatched)));
  };
  for (Node& node : made) {
    watched.push_back(std::move(node));
    const std::vector<ValueId> outputs = watched.back().outputs;
    std::ranges::for_each(outputs, watch);
  }
  // What no node makes is there from the beginning.
  const size_t behind = watched.size();
  std::ranges::for_each(values, watch);
  std::rotate(watched.begin(), watched.begin() + static_cast<std::ptrdiff_t>(behind),
              watched.end());
  graph.nodes = std::move(watched);
}

}  // namespace octet
