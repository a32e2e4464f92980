// SPDX-License-Identifier: Apache-2.0
#include "precision/plugin_role.h"

#include <algorithm>
#include <cmath>

#include "plugin/choice.h"
#include "precision/roles.h"

namespace octet {
namespace {

bool has_range(const Ranges& ranges, ValueId id) {
  const auto at = ranges.find(id);
  return at != ranges.end() && std::isfinite(at->second.threshold) && at->second.threshold > 0;
}

}  // namespace

bool is_choosing_plugin(const Node& node) {
  return node.op->quant.kind == QuantKind::arithmetic && plugin_of(node) != nullptr;
}

Decision choose_for_plugin(const PluginChooser& chooser, Node& node) {
  const Graph& graph = chooser.graph;
  const Uses& uses = chooser.uses;
  const Ranges& ranges = chooser.ranges;
  PluginSurroundings around;
  around.must_be_codes = chooser.must_be_codes;
  for (ValueId id : node.inputs) {
    const bool constant = graph.is_constant(id);
    around.inputs.push_back({constant || has_range(ranges, id),
                             !constant && id != kNoValue && chooser.is_int8(uses.producer(id))});
  }
  for (ValueId id : node.outputs) {
    const bool read = id != kNoValue && std::ranges::any_of(uses.consumers(id), [&](u32 reader) {
                        return chooser.is_int8(static_cast<s32>(reader));
                      });
    around.outputs.push_back({has_range(ranges, id), read});
  }
  const PluginChoice choice = choose_combination(graph, node, around);
  if (choice.combination == nullptr) return {Precision::f32, ReasonCode::float_input, choice.why};
  remember_choice(node, *choice.combination);
  return {Precision::int8, ReasonCode::joins_codes, choice.why};
}

}  // namespace octet
