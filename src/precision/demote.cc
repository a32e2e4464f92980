// SPDX-License-Identifier: Apache-2.0
#include "precision/demote.h"

#include "precision/decide.h"
#include "precision/plugin_role.h"
#include "precision/roles.h"

namespace octet {
namespace {

class Demotion {
 public:
  Demotion(Graph& graph, const Uses& uses, const Ranges& ranges, const AskedTypes& asked)
      : graph_(graph), uses_(uses), ranges_(ranges), asked_(asked) {}

  // Codes go missing downwards, readers upwards. Who has no reader takes codes from nobody, so one sweep each way is all.
  void run() {
    for (Node& node : graph_.nodes) {
      if (is_choosing_plugin(node) && node.decision.precision == Precision::int8) choose(node);
      if (!joins(node) || asked_.int8(node)) continue;
      if (std::string missing = missing_codes(node); !missing.empty())
        node.decision = decide_real(ReasonCode::float_input, std::move(missing));
    }
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      if (!joins(*node)) continue;
      if (asked_.int8(*node)) {
        demote_asked(*node);
        continue;
      }
      if (has_int8_reader(*node)) continue;
      node->decision = decide_real(ReasonCode::no_int8_reader, "no reader of its result is INT8");
    }
  }

 private:
  bool is_int8(s32 index) const {
    return index >= 0 &&
           graph_.nodes[static_cast<size_t>(index)].decision.precision == Precision::int8;
  }

  // A joining node needs codes at every activation input. Moving the graph's input as codes is fine: it is quantized once.
  std::string missing_codes(const Node& node) const {
    const bool moves = node.op->quant.kind == QuantKind::move_codes;
    for (ValueId id : code_inputs(graph_, node)) {
      const s32 producer = uses_.producer(id);
      if (is_int8(producer) || (producer < 0 && moves)) continue;
      return fmt::format(
          "its input '{}' is f32, produced by {}", graph_.value(id).name,
          producer < 0 ? "the caller" : describe(graph_.nodes[static_cast<size_t>(producer)]));
    }
    return {};
  }

  bool has_int8_reader(const Node& node) const {
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      for (u32 reader : uses_.consumers(id)) {
        if (is_int8(static_cast<s32>(reader))) return true;
      }
    }
    return false;
  }

  static bool joins(const Node& node) {
    return node.decision.precision == Precision::int8 &&
           node.op->quant.kind != QuantKind::compute && !is_choosing_plugin(node);
  }

  void choose(Node& node) const {
    const PluginChooser chooser{graph_, uses_, ranges_, [&](s32 other) { return is_int8(other); },
                                asked_.int8(node)};
    node.decision = choose_for_plugin(chooser, node);
  }

  // What is asked for in INT8 reads codes of reals, and gives codes that are reals again.
  void demote_asked(Node& node) const {
    if (!uses_.is_output(node.outputs[0]) || has_int8_reader(node)) return;
    node.decision =
        decide_real(ReasonCode::model_output,
                    "its result is an output of the model, and its integer form gives codes");
  }

  Graph& graph_;
  const Uses& uses_;
  const Ranges& ranges_;
  const AskedTypes& asked_;
};

}  // namespace

void demote_without_neighbors(Graph& graph, const Uses& uses, const Ranges& ranges,
                              const AskedTypes& asked) {
  Demotion(graph, uses, ranges, asked).run();
}

}  // namespace octet
