// SPDX-License-Identifier: Apache-2.0
#include "precision/halves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/check.h"
#include "graph/graph_edit.h"
#include "graph/op_def.h"
#include "ops/attributes/codes.h"
#include "ops/registry.h"
#include "passes/infer_types.h"
#include "passes/match.h"
#include "passes/qdq.h"
#include "precision/roles.h"

namespace octet {
namespace {

bool is_half(Precision type) { return type == Precision::f16 || type == Precision::bf16; }

Dtype dtype_of(Precision type) { return type == Precision::f16 ? Dtype::f16 : Dtype::bf16; }

constexpr const char* kOwn = ".rounded";  // names what rounds a layer's own result

// Nodes of the scores of attention, and of masks for them, whose Softmax gives codes: the kernels of such attention hold scores in f32 and round nothing on the way.
std::vector<bool> scores_of_codes(const Graph& graph) {
  const Uses uses(graph);
  std::vector<bool> found(graph.nodes.size());
  for (size_t n = found.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (node.decision.code != ReasonCode::codes_of_rows || node.outputs.size() != 1 ||
        uses.is_output(node.outputs[0]))
      continue;
    const std::span<const u32> readers = uses.consumers(node.outputs[0]);
    found[n] = !readers.empty() && std::ranges::all_of(readers, [&](u32 reader) {
      return found[reader] || graph.nodes[reader].decision.precision == Precision::int8;
    });
  }
  return found;
}

class Narrower {
 public:
  Narrower(Graph& graph, const HalfPlan& plan, SampledTypes types)
      : graph_(graph),
        plan_(plan),
        types_(std::move(types)),
        grid_(graph.value_count(), Precision::none),
        of_codes_(scores_of_codes(graph)),
        edit_(graph) {}

  void run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) visit(n);
    edit_.apply();
  }

 private:
  Precision grid_of(ValueId id) const { return id < grid_.size() ? grid_[id] : Precision::none; }
  void set_grid(ValueId id, Precision type) {
    if (id >= grid_.size()) grid_.resize(id + 1, Precision::none);
    grid_[id] = type;
  }

  const TensorType& type_of(ValueId id) const { return types_.first.types[id]; }
  bool is_f32(ValueId id) const {
    return id != kNoValue && id < types_.first.types.size() && is_real(type_of(id));
  }

  // Whether the layer computes on reals and gives reals, by a form that needs no codes.
  bool is_float_layer(const Node& node) const {
    return node.decision.precision == Precision::f32 && !has_body(node) && !is_quantize(node) &&
           !is_dequantize(node) && !node.outputs.empty() && is_f32(node.outputs[0]);
  }

  const LayerRequest* request_of(const Node& node) const {
    for (const std::string& origin : node.origins) {
      const auto at = plan_.asked.find(origin);
      if (at != plan_.asked.end()) return &at->second;
    }
    return nullptr;
  }

  const Decision* instead_of(const Node& node) const {
    for (const std::string& origin : node.origins) {
      const auto at = plan_.instead.find(origin);
      if (at != plan_.instead.end()) return &at->second;
    }
    return nullptr;
  }

  Decision decide(const Node& node) const {
    const LayerRequest* asked = request_of(node);
    Decision decision = node.decision;
    if (asked != nullptr && asked->precision == Precision::f32) return decision;
    if (asked != nullptr && is_half(asked->precision)) {
      return {asked->precision, ReasonCode::kept_by_user,
              fmt::format("{} by the user: '{}'", to_string(asked->precision), asked->by)};
    }
    if (decision.code == ReasonCode::kept_by_user || plan_.type == Precision::none) return decision;
    if (of_codes_[static_cast<size_t>(&node - graph_.nodes.data())]) return decision;
    if (plan_.products_only && node.op->quant.kind != QuantKind::compute) return decision;
    if (const Decision* other = instead_of(node)) return *other;
    decision.precision = plan_.type;
    decision.reason += fmt::format("; in {}", to_string(plan_.type));
    return decision;
  }

  // With 16-bit values in place of the reals (of the constants too, if asked) the node gives the same in 16 bits.
  bool has_form(const Node& node, Dtype half, bool constants) const {
    const auto narrowed = [&](ValueId id) {
      if (id == kNoValue) return TensorType{};
      TensorType type = type_of(id);
      const bool stays = graph_.is_constant(id) && !constants;
      if (type.dtype == Dtype::f32 && !stays) type.dtype = half;
      return type;
    };
    std::vector<TensorType> inputs;
    std::vector<const Tensor*> values;
    for (ValueId id : node.inputs) {
      inputs.push_back(narrowed(id));
      const bool known = id != kNoValue && types_.first.known[id] &&
                         inputs.back().dtype == types_.first.known[id].dtype();
      values.push_back(known ? &types_.first.known[id] : nullptr);
    }
    try {
      const std::vector<TensorType> got = infer_node(node, inputs, values);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueId id = node.outputs[i];
        if (id == kNoValue) continue;
        TensorType wanted = type_of(id);
        if (wanted.dtype == Dtype::f32) wanted.dtype = half;
        if (got[i] != wanted) return false;
      }
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  void visit(size_t n) {
    Node& node = graph_.nodes[n];
    if (!is_float_layer(node)) return round_result(n, result_of(node));
    const Decision decision = decide(node);
    if (!is_half(decision.precision)) return round_result(n, result_of(node));
    const Dtype half = dtype_of(decision.precision);
    const bool all = has_form(node, half, true);
    if (!all && !has_form(node, half, false)) {
      node.decision.reason += fmt::format("; no form in {}", to_string(decision.precision));
      return;
    }
    const bool moved = all && moves_only(node);
    node.decision = decision;
    for (ValueId& id : node.inputs) {
      if (!is_f32(id)) continue;
      if (!graph_.is_constant(id)) {
        id = rounded(n, id, decision.precision);
      } else if (all) {
        id = rounded_constant(id, decision.precision);
      }
    }
    const Precision result = result_of(node);
    if (moved) return note_moved(node, decision.precision);
    round_result(n, result == Precision::none ? decision.precision : result);
  }

  // What is asked of the result alone: a 16-bit type, or f32, which is no rounding.
  Precision result_of(const Node& node) const {
    const LayerRequest* asked = request_of(node);
    return asked == nullptr ? Precision::none : asked->output;
  }

  // Its results are among its inputs, which are values of the type already, or become so.
  static bool moves_only(const Node& node) {
    return node.op->quant.kind == QuantKind::move_codes && node.op->quant.quantize == nullptr;
  }

  void note_moved(const Node& node, Precision type) {
    for (ValueId id : node.outputs) {
      if (is_f32(id)) set_grid(id, type);
    }
  }

  Node round_node(const Node& beside, std::string name, ValueId from, ValueId to, Precision type) {
    Node node = node_beside(beside, find_op("RoundTo"), std::move(name), {from});
    node.origins.clear();
    node.outputs = {to};
    set_attribute<&CastAttributes::to>(node.attrs,
                                       type == Precision::f16 ? Dtype::f16 : Dtype::bf16);
    node.decision = {type, ReasonCode::boundary, fmt::format("rounds to {}", to_string(type))};
    return node;
  }

  // The value on the grid of the type, for a reader that stands at `n`.
  ValueId rounded(size_t n, ValueId id, Precision type) {
    if (grid_of(id) == type) return id;
    const auto [at, fresh] = copies_.try_emplace({id, type}, kNoValue);
    if (!fresh) return at->second;
    const std::string name = fmt::format("{}.{}", graph_.value(id).name, to_string(type));
    const ValueId copy = graph_.add_value(name, TensorType(graph_.value(id).type));
    edit_.insert_before(n, round_node(graph_.nodes[n], name, id, copy, type));
    set_grid(copy, type);
    return at->second = copy;
  }

  ValueId rounded_constant(ValueId id, Precision type) {
    const auto [at, fresh] = copies_.try_emplace({id, type}, kNoValue);
    if (!fresh) return at->second;
    Tensor tensor = rounded_to(graph_.value(id).constant, type);
    const std::string name = fmt::format("{}.{}", graph_.value(id).name, to_string(type));
    return at->second = graph_.add_constant(name, std::move(tensor));
  }

  // The layer writes a value of its own; what its readers know is that value, rounded.
  void round_result(size_t n, Precision type) {
    if (!is_half(type)) return;
    Node& node = graph_.nodes[n];
    for (ValueId& id : node.outputs) {
      if (!is_f32(id)) continue;
      const std::string name = graph_.value(id).name;
      const ValueId whole =
          graph_.add_value(name + ".unrounded", TensorType(graph_.value(id).type));
      edit_.insert_after(n, round_node(node, name + kOwn, whole, id, type));
      set_grid(id, type);
      id = whole;
    }
  }

  Graph& graph_;
  const HalfPlan& plan_;
  SampledTypes types_;
  std::vector<Precision> grid_;  // of each value: the type whose value every element is
  const std::vector<bool> of_codes_;
  std::map<std::pair<ValueId, Precision>, ValueId> copies_;
  GraphEdit edit_;
};

// Finite constants stay finite.
f32 within(f32 x, f32 largest) { return std::isnan(x) ? x : std::clamp(x, -largest, largest); }

template <class Half>
Tensor rounded_as(const Tensor& real, f32 largest) {
  Tensor result(Dtype::f32, real.shape());
  const auto x = real.as<f32>();
  const auto y = result.mutable_as<f32>();
  for (size_t i = 0; i < x.size(); ++i) {
    const f32 held = std::isinf(x[i]) ? x[i] : within(x[i], largest);
    y[i] = static_cast<f32>(Half(held));
  }
  return result;
}

}  // namespace

bool rounds_own_result(const Node& round) {
  return is_op(round, "RoundTo") && round.name.ends_with(kOwn);
}

bool HalfPlan::empty() const {
  if (is_half(type)) return false;
  return std::ranges::none_of(asked, [](const auto& entry) {
    return is_half(entry.second.precision) || is_half(entry.second.output);
  });
}

Tensor rounded_to(const Tensor& real, Precision type) {
  return type == Precision::f16 ? rounded_as<f16>(real, 65504.0f)
                                : rounded_as<bf16>(real, 0x1.fep127f);
}

std::unordered_map<std::string, LayerRequest> requests_by_node(
    const Graph& graph, std::span<const LayerRequest> requests) {
  std::unordered_map<std::string, LayerRequest> by_node;
  for (size_t n = 0; n < requests.size(); ++n) {
    const LayerRequest& request = requests[n];
    if (request.precision == Precision::none && request.output == Precision::none) continue;
    for (const std::string& origin : graph.nodes[n].origins) by_node.emplace(origin, request);
  }
  return by_node;
}

void narrow_layers(Graph& graph, const HalfPlan& plan) {
  if (plan.empty()) return;
  SampledTypes types = infer_types(graph, {.keep_dequantize = true});
  Narrower(graph, plan, std::move(types)).run();
  graph.compact();  // the constants that nobody reads any longer
}

}  // namespace octet
