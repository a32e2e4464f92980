// SPDX-License-Identifier: Apache-2.0
#include "octet/simulate.h"

#include <string>
#include <unordered_set>

#include "core/memory.h"
#include "passes/match.h"
#include "pipeline/kept.h"
#include "runtime/inside.h"

namespace octet {
namespace {

// The engine calls codes by the name of the tensor that they stand for (precision/finish.cc). In the graph with Q/DQ that name is the
// value's before it is rounded to a code: no layer would give what it is held against. There the name goes to what the codes stand for.
class Renamer {
 public:
  Renamer(Graph& graph, const Graph& engine) : graph_(graph), uses_(graph) {
    for (const Node& node : engine.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != kNoValue && engine.value(id).quant) codes_.insert(engine.value(id).name);
      }
    }
  }

  void run() {
    for (const Node& node : graph_.nodes) {
      if (!is_dequantize(node) || uses_.is_output(node.outputs[0])) continue;
      const Node* quantize = producer_of(graph_, uses_, node.input(0));
      if (quantize != nullptr && is_quantize(*quantize))
        hand_over(quantize->input(0), node.outputs[0]);
    }
  }

 private:
  // The first of several that dequantize one value gets its name: they hold the same.
  void hand_over(ValueId real, ValueId rounded) {
    const std::string name = graph_.value(real).name;
    if (!codes_.contains(name) || uses_.is_output(real) || uses_.producer(real) < 0) return;
    std::string before = name + ".before_rounding";
    while (!graph_.rename(real, before)) before += '_';
    graph_.rename(rounded, name);
  }

  Graph& graph_;
  Uses uses_;
  std::unordered_set<std::string> codes_;  // names of values that are codes in the engine
};

}  // namespace

Engine simulation(const Engine& engine) {
  return without_bad_alloc([&] {
    const Model& made = Inside::model(engine);
    std::shared_ptr<Model> model = simulated(made);
    Renamer(model->graph, made.graph).run();
    return Inside::engine(std::move(model));
  });
}

}  // namespace octet
