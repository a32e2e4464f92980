// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plugin_notes.h"

#include <algorithm>

#include "core/check.h"
#include "passes/match.h"
#include "plugin/library.h"

namespace octet {
namespace {

bool is_fed_by_dequantize(const Graph& graph, const Uses& uses, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId id) {
    const s32 producer = id == kNoValue ? -1 : uses.producer(id);
    return producer >= 0 && is_dequantize(graph.nodes[static_cast<size_t>(producer)]);
  });
}

// Which of the two placements a model has, and how to get the other.
std::string placement(const Graph& graph, const Uses& uses, const Node& node) {
  const Declaration& d = plugin_of(node)->declaration;
  if (is_plugin_codes(node)) {
    return fmt::format(
        "{}: the model has Q -> {} -> DQ, so the plugin gets codes; for reals, put a "
        "DequantizeLinear before it and a QuantizeLinear behind it",
        describe(node), d.name);
  }
  if (!is_fed_by_dequantize(graph, uses, node)) return {};
  if (node.op->quant.kind == QuantKind::move_codes)
    return fmt::format(
        "{}: the model has Q -> DQ -> {}; it moves elements, so Q and DQ move through it",
        describe(node), d.name);
  const auto with_codes = [](const PluginCombination& c) { return c.has_codes(); };
  if (std::ranges::none_of(d.combinations, with_codes)) {
    return fmt::format(
        "{}: the model has Q -> DQ -> {}, so the plugin gets reals; it declares no "
        "combination of codes",
        describe(node), d.name);
  }
  if (d.quantizable()) {
    return fmt::format(
        "{}: the model has Q -> DQ -> {}, and the plugin allows to fuse them: it gets "
        "codes where that costs least",
        describe(node), d.name);
  }
  return fmt::format(
      "{}: the model has Q -> DQ -> {}, so the plugin gets reals; for codes, write Q -> {} "
      "-> DQ, or let the plugin declare itself quantizable",
      describe(node), d.name, d.name);
}

std::string on_gpus_alone(const Node& node) {
  const Declaration& d = plugin_of(node)->declaration;
  if (std::ranges::find(d.combinations, u32{OCTET_DEVICE_HOST}, &PluginCombination::device) !=
      d.combinations.end())
    return {};
  return fmt::format(
      "{}: the plugin's combinations are for CUDA pointers alone, so the engine runs on a GPU "
      "only; "
      "calibration and comparison need one for the host",
      describe(node));
}

std::string native(const Node& node) {
  const Declaration& d = plugin_of(node)->declaration;
  for (const PluginInfo& plugin : loaded_plugins()) {
    if (plugin.name != d.plugin) continue;
    for (const PluginOperatorInfo& op : plugin.operators) {
      if (op.name != d.name || op.domain != d.domain || op.native.empty()) continue;
      return fmt::format(
          "{} runs the plugin '{}'; {}: with the domain ai.onnx the node would be that",
          describe(node), d.plugin, op.native);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> plugin_notes(const Graph& graph) {
  constexpr size_t kMost = 20;
  const Uses uses(graph);
  std::vector<std::string> notes;
  for (const Node& node : graph.nodes) {
    if (plugin_of(node) == nullptr || notes.size() >= kMost) continue;
    for (std::string note : {placement(graph, uses, node), native(node), on_gpus_alone(node)}) {
      if (!note.empty()) notes.push_back(std::move(note));
    }
  }
  return notes;
}

}  // namespace octet
