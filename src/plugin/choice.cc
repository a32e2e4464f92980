// SPDX-License-Identifier: Apache-2.0
#include "plugin/choice.h"

#include <algorithm>

#include "core/check.h"
#include "plugin/call.h"
#include "plugin/codes.h"

namespace octet {
namespace {

constexpr const char* kChoice = "octet.combination";
// A byte read or written by a conversion, in the cycles that costs are in.
constexpr f64 kCyclesPerByte = 1;

// One for each size that is open.
f64 elements_of(const Graph& graph, ValueId id) {
  f64 elements = 1;
  for (const s64 size : graph.value(id).type.shape)
    elements *= size < 0 ? 1 : static_cast<f64>(size);
  return elements;
}

bool is_real(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.value(id).type.dtype == Dtype::f32;
}

// Types as the combination has them; parameters that mean nothing.
CodesForm assumed_form(const Node& node, const PluginCombination& c) {
  CodesForm form;
  const auto add = [](std::vector<PortCodes>& to, const PluginFormat& format, bool given) {
    PortCodes port;
    if (given) port.format = format;
    port.stored = given ? *dtype_of(format.type) : Dtype::f32;
    if (given && format.is_codes()) port.scales = {1.0f};
    to.push_back(std::move(port));
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    add(form.inputs, format_of(c.inputs, i), node.inputs[i] != kNoValue);
  for (size_t i = 0; i < node.outputs.size(); ++i) add(form.outputs, format_of(c.outputs, i), true);
  return form;
}

// The plugin's own estimate where all sizes are known, else the bytes.
f64 own_cost(const Graph& graph, const Node& node, const PluginCombination& c) {
  const CodesForm form = assumed_form(node, c);
  PluginStep::Tensors tensors;
  f64 bytes = 0;
  bool known = true;
  const auto add = [&](std::vector<TensorType>& types, ValueId id, Dtype dtype) {
    const Shape shape = id == kNoValue ? Shape() : graph.value(id).type.shape;
    types.push_back({dtype, shape});
    known = known && !shape.is_unknown() && shape.is_static();
    if (id != kNoValue) bytes += elements_of(graph, id) * static_cast<f64>(dtype_bytes(dtype));
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    add(tensors.inputs, node.inputs[i], form.inputs[i].stored);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    add(tensors.outputs, node.outputs[i], form.outputs[i].stored);
  if (!known || c.raw.cost == nullptr) return bytes * kCyclesPerByte;
  tensors.constants.resize(node.inputs.size());
  return PluginStep(*plugin_of(node), node, form, c, std::move(tensors)).cost();
}

// A tensor that crosses between codes and reals is read in one form and written in the other.
f64 crossing(const Graph& graph, ValueId id) { return 5 * kCyclesPerByte * elements_of(graph, id); }

// The cost of a combination with its conversions; negative where the surroundings do not allow it.
f64 cost_of(const Graph& graph, const Node& node, const PluginCombination& c,
            const PluginSurroundings& around) {
  f64 cost = own_cost(graph, node, c);
  bool fits = true;
  const auto add = [&](ValueId id, const PluginFormat& format, const PortSurroundings& port) {
    if (id == kNoValue) return;
    if (format.is_codes()) fits = fits && is_real(graph, id) && port.can_be_codes;
    const Dtype dtype = graph.value(id).type.dtype;
    const bool widened = is_widened(format, dtype);
    if (!format.is_codes()) fits = fits && (plugin_type(dtype) == format.type || widened);
    const bool crosses = is_real(graph, id) && (widened || format.is_codes() != port.prefers_codes);
    if (crosses && !graph.is_constant(id)) cost += crossing(graph, id);
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    add(node.inputs[i], format_of(c.inputs, i), around.inputs[i]);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    add(node.outputs[i], format_of(c.outputs, i), around.outputs[i]);
  return fits ? cost : -1;
}

template <class Formats>
bool could_be_codes(const Node& node, size_t tensor, Formats formats) {
  const PluginOp& op = *plugin_of(node);
  if (const PluginCombination* chosen = remembered_choice(node))
    return format_of(chosen->*formats, tensor).is_codes();
  return std::ranges::any_of(op.declaration.combinations, [&](const PluginCombination& c) {
    return format_of(c.*formats, tensor).is_codes();
  });
}

}  // namespace

PluginChoice choose_combination(const Graph& graph, const Node& node,
                                const PluginSurroundings& around) {
  const Declaration& d = plugin_of(node)->declaration;
  const PluginCombination* best = nullptr;
  f64 least = 0;
  std::string costs;
  for (const PluginCombination& c : d.combinations) {
    if (c.device != OCTET_DEVICE_HOST || (around.must_be_codes && !c.has_codes())) continue;
    const f64 cost = cost_of(graph, node, c, around);
    if (cost < 0) continue;
    costs += fmt::format("{}'{}' {:.3g}", costs.empty() ? "" : ", ", c.name, cost);
    if (best != nullptr && cost >= least) continue;
    best = &c;
    least = cost;
  }
  if (best == nullptr) return {nullptr, "its surroundings allow no combination on codes"};
  const std::string why = fmt::format(
      "combination '{}' costs least, with its conversions, in cycles: {}", best->name, costs);
  return {best->has_codes() ? best : nullptr, why};
}

void remember_choice(Node& node, const PluginCombination& combination) {
  node.attrs.set(kChoice, combination.name);
}

void forget_choice(Node& node) { node.attrs.erase(kChoice); }

const PluginCombination* remembered_choice(const Node& node) {
  const std::string name = node.attrs.s(kChoice, "");
  if (name.empty()) return nullptr;
  const auto& all = plugin_of(node)->declaration.combinations;
  const auto at = std::ranges::find(all, name, &PluginCombination::name);
  return at == all.end() ? nullptr : &*at;
}

bool plugin_reads_codes(const Node& node, size_t input) {
  return could_be_codes(node, input, &PluginCombination::inputs);
}

bool plugin_writes_codes(const Node& node, size_t output) {
  return could_be_codes(node, output, &PluginCombination::outputs);
}

}  // namespace octet
