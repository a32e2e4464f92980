// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/bf16_values.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/float/cast.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/reference/reference.h"
#include "graph/op_def.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/marks.h"
#include "ops/shared/conv.h"
#include "ops/shared/resize.h"

namespace octet {
namespace {

constexpr size_t kX = 0, kWeights = 1, kBias = 2, kResidual = 3;

bool is_image(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.value(id).type.shape.rank() == 4;
}

// As lower_f_conv_panels and lower_f_depthwise_taps take it.
bool is_half_conv(const Graph& graph, const Node& node, Isa isa) {
  const Tensor* weights = graph.constant_input(node, kWeights);
  const bool bias = node.input(kBias) != kNoValue;
  if (node.op->name != "Conv" || weights == nullptr || !is_image(graph, node.inputs[kX]) ||
      graph.is_constant(node.inputs[kX]) || attribute_of<&ExactAttributes::exact>(node) ||
      (bias && graph.constant_input(node, kBias) == nullptr) ||
      (node.input(kResidual) != kNoValue && graph.is_constant(node.input(kResidual))))
    return false;
  const ConvGeometry g =
      conv_geometry(node, graph.value(node.inputs[kX]).type.shape, weights->shape());
  constexpr s64 kMostTaps = 49, kFewOuts = 8;
  if (g.depthwise() && g.window.kernel_elements() <= kMostTaps && node.input(kResidual) == kNoValue)
    return true;
  return multiplies_pairs(node, isa) && (g.groups == 1 || (g.in_channels_per_group() % 2 == 0 &&
                                                           g.out_channels_per_group() >= kFewOuts));
}

// Inputs whose elements the node moves, as they are; none where it has others.
std::vector<size_t> moved_inputs(const Graph& graph, const Node& node) {
  if (node.op->quant.kind != QuantKind::move_codes) return {};
  if (node.op->name == "Resize" && !resize_moves_elements(node)) return {};
  if (node.op->name == "Pad" && node.input(2) != kNoValue) return {};  // a value of f32
  if (node.op->name == "MaxPool" && (node.outputs.size() > 1 || !is_image(graph, node.inputs[0])))
    return {};
  if (node.op->quant.moved_input >= 0) return {static_cast<size_t>(node.op->quant.moved_input)};
  std::vector<size_t> all(node.inputs.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

bool rounds_to_bf16(const Node& node) {
  return node.op->name == "RoundTo" ? attribute_of<&CastAttributes::to>(node) == Dtype::bf16
                                    : rounding_of(node) == Precision::bf16;
}

// Results of bf16 that the model has so, which no RoundTo asks for. Kernels store halves by leaving bits out, and would not round these.
bool makes_own_bf16(const LowerRequest& request) {
  return request.node.op->quant.kind != QuantKind::move_codes && !rounds_to_bf16(request.node) &&
         std::ranges::any_of(request.outputs, is_stored_half);
}

class Storer {
 public:
  Storer(Graph& graph, Isa isa)
      : graph_(graph), isa_(isa), uses_(graph), stored_(graph.value_count(), false) {}

  void run() {
    for (const Node& node : graph_.nodes) mark(node);
    while (drop_others()) {
    }
    for (ValueId id = 0; id < stored_.size(); ++id) {
      if (stored_[id]) graph_.value(id).type.dtype = Dtype::bf16;
    }
  }

 private:
  // Values whose reals are numbers of bf16.
  void mark(const Node& node) {
    const std::vector<size_t> moved = moved_inputs(graph_, node);
    const bool moves = !moved.empty() && std::ranges::all_of(moved, [&](size_t i) {
      return is_stored(node.inputs[i]);
    });
    for (const ValueId id : node.outputs) {
      if (id == kNoValue || graph_.value(id).type.dtype != Dtype::f32) continue;
      stored_[id] =
          moves || (rounds_to_bf16(node) && (node.op->name == "RoundTo" || computes(node)));
    }
  }
  bool is_stored(ValueId id) const { return id != kNoValue && stored_[id]; }
  bool computes(const Node& node) const {
    return is_half_conv(graph_, node, isa_) || is_elementwise(node.op->name);
  }
  bool carries(const Node& node) const {
    const std::vector<size_t> from = moved_inputs(graph_, node);
    return !from.empty() &&
           std::ranges::all_of(from, [&](size_t i) { return is_stored(node.inputs[i]); }) &&
           std::ranges::all_of(node.outputs, [&](ValueId id) { return is_stored(id); });
  }
  bool reads(const Node& node, ValueId id) const {
    if (is_half_conv(graph_, node, isa_))
      return node.inputs[kX] == id || node.input(kResidual) == id;
    return is_elementwise(node.op->name) || carries(node);
  }
  bool is_kept(const Node& maker, ValueId id) const {
    if (uses_.is_output(id) || uses_.consumers(id).empty()) return false;
    if (!moved_inputs(graph_, maker).empty() && !carries(maker)) return false;
    return std::ranges::all_of(uses_.consumers(id),
                               [&](u32 n) { return reads(graph_.nodes[n], id); });
  }
  bool drop_results(const Node& node) {
    bool dropped = false;
    for (const ValueId id : node.outputs) {
      if (id == kNoValue || !stored_[id] || is_kept(node, id)) continue;
      stored_[id] = false;
      dropped = true;
    }
    return dropped;
  }
  // Both ways, so that a chain of moves is done with in one round, from whichever end it is dropped.
  bool drop_others() {
    bool dropped = false;
    for (const Node& node : graph_.nodes) dropped = drop_results(node) || dropped;
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node)
      dropped = drop_results(*node) || dropped;
    return dropped;
  }

  Graph& graph_;
  const Isa isa_;
  const Uses uses_;
  std::vector<bool> stored_;
};

}  // namespace

bool stores_bf16(Isa isa) {
  return isa.has(Isa::vnni) && isa.has(Feature::avx512_bf16) && !isa.has(Isa::amx);
}

bool multiplies_pairs(const Node& node, Isa isa) {
  return node.decision.precision == Precision::bf16 && stores_bf16(isa);
}

void store_bf16(Graph& graph, Isa isa) {
  if (stores_bf16(isa)) Storer(graph, isa).run();
}

std::string halves_reject(const LowerRequest& request) {
  const Isa isa = isa_of(request.target);
  if (!stores_bf16(isa)) return float_reject(request);
  const auto is_real = [](const TensorType& type) {
    return type.dtype == Dtype::f32 || is_stored_half(type);
  };
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has_input(i)) continue;
    const bool f32_alone = request.constant(i) != nullptr;
    if (f32_alone ? request.inputs[i].dtype != Dtype::f32 : !is_real(request.inputs[i]))
      return "an operand is not f32";
  }
  if (!std::ranges::all_of(request.outputs, is_real)) return "an operand is not f32";
  return makes_own_bf16(request) ? "its result is bf16 in the model, which kernels do not round to"
                                 : "";
}

void narrowed(const f32* from, s64 count, std::byte* to) noexcept {
  const CastArgs cast{from, to, count};
  narrow_to_bf16_vnni(&cast);
}

namespace {

// An operand of a definition that is stored in 16 bits: where in the workspace it is f32.
struct Widened {
  size_t at;
  s64 count, offset;
};

// The types become f32.
std::vector<Widened> widen_types(std::vector<TensorType>& types, s64& workspace_bytes) {
  constexpr s64 kAlignment = 64;
  std::vector<Widened> all;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!is_stored_half(types[i])) continue;
    types[i].dtype = Dtype::f32;
    all.push_back({i, types[i].shape.elements(), workspace_bytes});
    workspace_bytes +=
        (static_cast<s64>(types[i].bytes()) + kAlignment - 1) / kAlignment * kAlignment;
  }
  return all;
}

}  // namespace

Candidate widened_reference(const LowerRequest& request) {
  const bool computes = request.node.op->name == "Conv" || is_elementwise(request.node.op->name);
  if (!computes || !stores_bf16(isa_of(request.target)) || makes_own_bf16(request))
    return rounding_reference(request);
  LowerRequest whole = request;
  s64 bytes = 0;
  const std::vector<Widened> inputs = widen_types(whole.inputs, bytes),
                             outputs = widen_types(whole.outputs, bytes);
  if (bytes == 0) return rounding_reference(request);
  Candidate candidate = rounding_reference(whole);
  candidate.workspace_bytes += bytes;
  candidate.bind = [exact = candidate.bind, inputs, outputs,
                    bytes](const BindArgs& bind) -> RunStep {
    return [run = exact(bind), inputs, outputs, bytes, xs = bind.inputs.size(),
            ys = bind.outputs.size()](const StepArgs& step) {
      std::vector<const std::byte*> from(step.inputs, step.inputs + xs);
      std::vector<std::byte*> to(step.outputs, step.outputs + ys);
      const auto room = [&](const Widened& w) {
        return reinterpret_cast<f32*>(step.workspace + w.offset);
      };
      for (const Widened& w : inputs) {
        const CastArgs cast{from[w.at], room(w), w.count};
        widen_bf16_vnni(&cast);
        from[w.at] = step.workspace + w.offset;
      }
      for (const Widened& w : outputs) to[w.at] = step.workspace + w.offset;
      run({from.data(), to.data(), step.workspace + bytes, step.queue});
      for (const Widened& w : outputs) narrowed(room(w), w.count, step.outputs[w.at]);
    };
  };
  return candidate;
}

}  // namespace octet
