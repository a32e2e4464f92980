// SPDX-License-Identifier: Apache-2.0
#include "pipeline/kept.h"

#include <algorithm>

#include "core/check.h"
#include "graph/propagate.h"
#include "passes/infer_types.h"
#include "runtime/kept_graph.h"

namespace octet {
namespace {

bool is_integer(const Model& model) {
  return std::ranges::any_of(model.graph.nodes, [](const Node& node) {
    return node.decision.precision == Precision::int8;
  });
}

// A file says what it likes of a graph that nothing runs: its types are inferred as those of an imported model, so that what reads it may
// rely on them. Throws Error(invalid_model) naming the node whose inputs do not fit.
Graph with_inferred_types(Graph graph) try {
  FoldingBudget budget(graph);
  infer_types(graph, {.keep_dequantize = true, .budget = &budget});
  return graph;
} catch (Error& error) {
  error.add_context("reading the graph that the engine was made of; build the engine again");
  throw;
}

}  // namespace

Graph kept_graph(const Model& model) {
  if (model.with_qdq != nullptr) return with_inferred_types(model.with_qdq->graph());
  fail(Error::Code::unsupported, "{}",
       is_integer(model)
           ? "the engine was built before engines kept the graph that they were made of; build it "
             "again"
           : "the engine has no INT8 layer, so its ONNX model is what other runtimes take");
}

std::shared_ptr<Model> simulated(const Model& model) {
  auto made = std::make_shared<Model>();
  made->graph = kept_graph(model);
  forget_size_numbers(made->graph);
  for (Node& node : made->graph.nodes)
    node.decision = {Precision::f32, ReasonCode::float_build, "simulated in f32"};
  made->producer = model.producer;
  made->preprocess = model.preprocess;
  made->equalized = model.equalized;
  return made;
}

}  // namespace octet
