// SPDX-License-Identifier: Apache-2.0
// DQ -> plugin -> Q becomes the plugin's node on codes: where a combination was chosen (precision/plugin_role.h), and in models with
// Q/DQ of their own where the operator says that it may. What the combination wants otherwise than it comes is converted by a table, or
// quantized anew.
#include <algorithm>
#include <cmath>

#include "core/rounding.h"
#include "graph/graph_edit.h"
#include "ops/quantized/epilogue.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"
#include "plugin/choice.h"
#include "plugin/codes.h"

namespace octet {
namespace {

// The range of these codes as codes around zero.
CodeType symmetric(const CodeType& type) {
  const CodeRange range = code_range(type.dtype);
  const f32 low = static_cast<f32>(range.lo - type.params.zero_point),
            high = static_cast<f32>(range.hi - type.params.zero_point);
  CodeType result;
  result.dtype = Dtype::s8;
  result.params = {type.params.scale * std::max(std::fabs(low), std::fabs(high)) / 127.0f, 0};
  return result;
}

bool fits(const PluginFormat& format, const CodeType& type) {
  return !format.symmetric || (type.dtype == Dtype::s8 && type.params.zero_point == 0);
}

PortCodes port_of(const PluginFormat& format, const CodeType& type) {
  PortCodes port;
  port.format = format;
  port.stored = type.dtype;
  port.scales = {type.params.scale};
  port.zero_point = type.params.zero_point;
  return port;
}

class PluginFuser {
 public:
  PluginFuser(Graph& graph, const Uses& uses, GraphEdit& edit, size_t at)
      : graph_(graph),
        uses_(uses),
        edit_(edit),
        at_(at),
        node_(graph.nodes[at]),
        op_(*plugin_of(graph.nodes[at])) {}

  // False: something does not come as codes after all, and the graph is as it was.
  bool run(const PluginCombination& c) {
    Node fused = node_;
    CodesForm form;
    std::vector<size_t> dead;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      auto port = input(c.inputs[Declaration::port_of(op_.declaration.inputs, i)], fused, i);
      if (!port) return false;
      form.inputs.push_back(std::move(*port));
    }
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      auto port =
          output(c.outputs[Declaration::port_of(op_.declaration.outputs, i)], fused, i, dead);
      if (!port) return false;
      form.outputs.push_back(std::move(*port));
    }
    fused.op = &op_.codes;
    forget_choice(fused);
    write_codes(fused, form);
    if (fused.decision.precision == Precision::none)
      fused.decision = {Precision::int8, ReasonCode::qdq_in_model,
                        "the model places Q/DQ around it"};
    for (Node& node : before_) edit_.insert_before(at_, std::move(node));
    for (Node& node : after_) edit_.insert_after(at_, std::move(node));
    for (size_t q : dead) edit_.erase(q);
    graph_.nodes[at_] = std::move(fused);
    return true;
  }

 private:
  std::optional<PortCodes> input(const PluginFormat& format, Node& fused, size_t i) {
    PortCodes port;
    if (node_.inputs[i] == kNoValue) return port;
    port.format = format;
    port.stored = graph_.value(node_.inputs[i]).type.dtype;
    if (!format.is_codes()) return port;
    if (graph_.is_constant(node_.inputs[i])) return constant(format, fused, i);
    const Node* dq = producer_of(graph_, uses_, node_.inputs[i]);
    if (dq == nullptr || !is_dequantize(*dq) || format.params == OCTET_PARAMS_PER_CHANNEL)
      return std::nullopt;
    const auto type = code_type(graph_, *dq);
    if (!type) return std::nullopt;
    fused.inputs[i] = dq->inputs[0];
    if (fits(format, *type)) return port_of(format, *type);
    const CodeType to = symmetric(*type);
    before_.push_back(make_rescale(graph_, dq->inputs[0], *type, to, node_.name + ".rescale"));
    before_.back().decision = {Precision::int8, ReasonCode::shared_scale,
                               "the plugin wants codes around zero"};
    fused.inputs[i] = before_.back().outputs[0];
    return port_of(format, to);
  }

  // Weights: symmetric codes, with a scale for each index of the axis where the combination has those.
  std::optional<PortCodes> constant(const PluginFormat& format, Node& fused, size_t i) {
    const Tensor& real = graph_.value(node_.inputs[i]).constant;
    if (real.dtype() != Dtype::f32) return std::nullopt;
    const bool channels = format.params == OCTET_PARAMS_PER_CHANNEL;
    if (channels && format.axis >= real.shape().rank()) return std::nullopt;
    PortCodes port;
    port.format = format;
    port.stored = *dtype_of(format.type);
    const s32 zero = port.stored == Dtype::u8 ? 128 : 0;
    const s64 count = channels ? real.shape()[format.axis] : 1;
    s64 inner = 1;
    for (int d = format.axis + 1; channels && d < real.shape().rank(); ++d)
      inner *= real.shape()[d];
    const auto channel = [&](s64 at) {
      return channels ? static_cast<size_t>(at / inner % count) : 0;
    };
    const auto x = real.as<f32>();
    port.scales.assign(static_cast<size_t>(count), 0.0f);
    for (size_t e = 0; e < x.size(); ++e) {
      f32& most = port.scales[channel(static_cast<s64>(e))];
      most = std::max(most, std::fabs(x[e]));
    }
    for (f32& scale : port.scales) scale = scale > 0 ? scale / 127.0f : 1.0f;
    port.zero_point = zero;
    Tensor codes(port.stored, real.shape());
    for (size_t e = 0; e < x.size(); ++e) {
      const f32 scale = port.scales[channel(static_cast<s64>(e))];
      const s32 code = quantize(x[e], scale, zero, zero - 127, zero + 127);
      codes.mutable_data()[e] = static_cast<std::byte>(code & 0xff);
    }
    fused.inputs[i] =
        graph_.add_constant(graph_.value(node_.inputs[i]).name + ".codes", std::move(codes));
    return port;
  }

  std::optional<PortCodes> output(const PluginFormat& format, Node& fused, size_t i,
                                  std::vector<size_t>& dead) {
    PortCodes port;
    port.format = format;
    if (node_.outputs[i] == kNoValue) return unread(format);
    port.stored = graph_.value(node_.outputs[i]).type.dtype;
    if (!format.is_codes()) return port;
    const s32 reader = uses_.only_consumer(node_.outputs[i]);
    if (reader < 0) return std::nullopt;
    Node& q = graph_.nodes[static_cast<size_t>(reader)];
    const auto type = is_quantize(q) ? code_type(graph_, q) : std::nullopt;
    if (!type) return std::nullopt;
    const ValueId codes = q.outputs[0];
    dead.push_back(static_cast<size_t>(reader));
    append_origins(fused, q);
    graph_.value(codes).quant = type->params;
    fused.outputs[i] = codes;
    if (fits(format, *type)) return port_of(format, *type);
    const CodeType own = symmetric(*type);
    const ValueId made = graph_.add_value(graph_.value(codes).name + ".own",
                                          {own.dtype, graph_.value(codes).type.shape});
    graph_.value(made).quant = own.params;
    Node rescale = make_rescale(graph_, made, own, *type, node_.name + ".rescale");
    rescale.outputs[0] = codes;
    rescale.decision = {Precision::int8, ReasonCode::shared_scale,
                        "the plugin gives codes around zero"};
    after_.push_back(std::move(rescale));
    fused.outputs[i] = made;
    return port_of(format, own);
  }

  // Nobody reads it: any parameters will do.
  static PortCodes unread(const PluginFormat& format) {
    PortCodes port;
    port.format = format;
    port.stored = *dtype_of(format.type);
    if (format.is_codes()) port.scales = {1.0f};
    return port;
  }

  Graph& graph_;
  const Uses& uses_;
  GraphEdit& edit_;
  size_t at_;
  Node& node_;
  const PluginOp& op_;
  std::vector<Node> before_, after_;
};

// In a model with its own Q/DQ: what comes and goes as codes.
const PluginCombination* of_model(Graph& graph, const Uses& uses, const Node& node) {
  PluginSurroundings around;
  for (ValueId id : node.inputs) {
    const Node* dq = producer_of(graph, uses, id);
    const bool codes = dq != nullptr && is_dequantize(*dq) && code_type(graph, *dq).has_value();
    around.inputs.push_back({codes || graph.is_constant(id), codes});
  }
  for (ValueId id : node.outputs) {
    const Node* q = id == kNoValue ? nullptr : only_reader(graph, uses, id);
    const bool codes = q != nullptr && is_quantize(*q) && code_type(graph, *q).has_value();
    around.outputs.push_back({codes, codes});
  }
  return choose_combination(graph, node, around).combination;
}

}  // namespace

void fuse_plugin(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  GraphEdit edit(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    const PluginOp* op = plugin_of(node);
    if (op == nullptr || is_plugin_codes(node) || op->declaration.commutes()) continue;
    const PluginCombination* chosen = remembered_choice(node);
    const bool own = node.decision.precision == Precision::none && op->declaration.quantizable();
    if (chosen == nullptr && own) chosen = of_model(graph, uses, node);
    if (chosen != nullptr && !rewrites.allow()) break;
    if (chosen == nullptr || !PluginFuser(graph, uses, edit, n).run(*chosen)) forget_choice(node);
  }
  edit.apply();
}

}  // namespace octet
