// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/float_product.h"

#include <algorithm>
#include <bit>
#include <span>

#include "backends/cuda/lower/code_reals.h"
#include "backends/cuda/lower/float_variants.h"
#include "backends/cuda/lower/halves.h"
#include "ops/attributes/codes.h"
#include "ops/shared/matmul.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

constexpr size_t kX = kFloatX, kWeights = kFloatWeights, kBias = kFloatBias,
                 kResidual = kFloatResidual;

// Without branches, since weights are many and each offer asks. Below the normal numbers of f16 its numbers are multiples of 2^-24.
WeightFacts facts_of(std::span<const f32> weights) {
  constexpr s32 kInfinite = 0x7F800000, kLargestOfF16 = 0x477FE000, kLeastNormal = 0x38800000;
  s32 greatest = 0, beyond_bf16 = 0, beyond_f16 = 0;
  for (const f32 weight : weights) {
    const s32 size = std::bit_cast<s32>(weight) & 0x7FFFFFFF;
    greatest = std::max(greatest, size);
    beyond_bf16 |= size & 0xFFFF;
    const bool normal = size >= kLeastNormal;
    const f32 units = std::bit_cast<f32>(normal ? 0 : size) * 0x1p24f;
    beyond_f16 |= (normal ? size & 0x1FFF : 0) |
                  static_cast<s32>(static_cast<f32>(static_cast<s32>(units)) != units);
  }
  return {.finite = greatest < kInfinite,
          .bf16 = beyond_bf16 == 0,
          .f16 = beyond_f16 == 0 && greatest <= kLargestOfF16};
}

std::string read_operands(const LowerRequest& request, FloatProduct& product) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.has_input(i) && request.inputs[i].dtype != Dtype::f32)
      return "an operand is not f32";
  }
  if (request.constant(kX) != nullptr) return "the left side is constant";
  const Tensor* weights = request.constant(kWeights);
  if (weights == nullptr) return "the weights are not constant";
  if (request.constant(kResidual) != nullptr) return "the residual is constant";
  if (request.outputs[0].shape.elements() == 0 || request.inputs[kX].shape.elements() == 0)
    return "there is nothing to compute";
  product.weights = *weights;
  product.x = request.inputs[kX].shape;
  product.y = request.outputs[0].shape;
  product.activation = activation_of(request.node);
  product.has_bias = request.has_input(kBias);
  product.has_residual = request.has_input(kResidual);
  if (const Tensor* bias = request.constant(kBias)) product.bias = *bias;
  product.facts = facts_of(weights->as<f32>());
  return product.facts.finite ? "" : "a weight is not finite";
}

// Empty, or why no kernel takes the product.
std::string read_product(const LowerRequest& request, FloatProduct& product) {
  if (std::string reason = read_operands(request, product); !reason.empty()) return reason;
  const Shape& weights = request.inputs[kWeights].shape;
  if (request.node.op->name == "Conv") {
    product.geometry = conv_geometry(request.node, product.x, weights);
    if (product.geometry.window.rank != 2) return "it has not two spatial axes";
    if (std::string reason = reject_sizes(product.geometry); !reason.empty()) return reason;
    const s64 taps = product.geometry.window.kernel_elements();
    product.weight_channel = product.cin() * taps;
    product.weight_cin = taps, product.weight_tap = 1;
    return {};
  }
  if (request.node.op->name == "ConvTranspose") {
    if (std::string reason = reject_phases(request.node, product.x, weights); !reason.empty())
      return reason;
    product.transposed = true;
    product.geometry = conv_transpose_geometry(request.node, product.x, weights);
    return reject_sizes(product.geometry);
  }
  product.rows = true;
  if (weights.rank() != 2) return "the right side is no matrix";
  const MatMulGeometry g = matmul_geometry(product.x, weights);
  if (g.k == 0) return "there is nothing to compute";
  product.geometry = rows_as_pixels(g.batches() * g.m, g.k, g.n);
  product.weight_channel = 1, product.weight_cin = g.n;
  return reject_sizes(product.geometry);
}

bool is_named(const Node& node, std::string_view name) { return node.op->name == name; }
bool is_product(const Node& node) {
  return is_named(node, "Conv") || is_named(node, "MatMul") || is_named(node, "ConvTranspose");
}

std::string read_scaling(const Graph& graph, const Node& node, std::optional<Scaling>& to) {
  const std::optional<CodeScale> code = code_scale_of(graph, node);
  if (!code) return "no codes of 8 bits, or no one constant scale and zero point";
  const ValueId codes = node.op->name == "QuantizeLinear" ? node.outputs[0] : node.inputs[0];
  to = Scaling{.type = number_of(graph.value(codes).type.dtype),
               .scale = code->scale,
               .zero_point = code->zero_point};
  return {};
}

// Positions of inputs whose numbers a node's results are, unless they are zero or an infinity.
std::vector<size_t> passed_inputs(const Graph& graph, const Node& node) {
  if (is_named(node, "Relu") || is_named(node, "MaxPool")) return {kX};
  return moved_inputs(graph, node);
}

// Whether the reals of a value are numbers of the type: all that they were moved from was rounded to it. Of very many values it is not told.
bool is_on_grid(const Graph& graph, const Uses& uses, ValueId id, std::string_view type) {
  constexpr size_t kMostValues = 64;
  std::vector<ValueId> values{id};  // each once
  for (size_t i = 0; i < values.size(); ++i) {
    const s32 from = values[i] == kNoValue ? -1 : uses.producer(values[i]);
    if (from < 0) return false;
    const Node& node = graph.nodes[static_cast<size_t>(from)];
    if (is_named(node, "RoundTo")) {
      if (dtype_name(attribute_of<&CastAttributes::to>(node)) != type) return false;
      continue;
    }
    const std::vector<size_t> inputs = passed_inputs(graph, node);
    if (inputs.empty() || values.size() + inputs.size() > kMostValues) return false;
    for (const size_t input : inputs) {
      if (std::ranges::find(values, node.inputs[input]) == values.end())
        values.push_back(node.inputs[input]);
    }
  }
  return true;
}

// Of two values of one shape, neither of them constant.
bool is_sum(const Graph& graph, const Node& node) {
  if (!is_named(node, "Add") || node.inputs.size() != 2 || node.inputs[0] == node.inputs[1] ||
      activation_of(node).kind != Activation::Kind::none)
    return false;
  const Shape& shape = graph.value(node.outputs[0]).type.shape;
  return std::ranges::all_of(node.inputs, [&](ValueId id) {
    return !graph.is_constant(id) && graph.value(id).type.shape == shape;
  });
}

// The nodes that stand around a product, from its last one on: before x and before the residual DequantizeLinear [RoundTo], or Cast of 16 bits; behind it [RoundTo, or Cast to 16 bits and back]
// [a function of one value [RoundTo, or these casts]] [Add of a residual] [RoundTo] [QuantizeLinear], or Cast to 16 bits.
class Finder {
 public:
  Finder(const Graph& graph, const Uses& uses, u32 last) : graph_(graph), uses_(uses), at_(last) {}

  // A caller's reals of f32 that are rounded to 16 bits for the product alone, and the rest.
  std::vector<u32> chain_of_image() {
    std::vector<u32> rest = chain("");
    if (rest.empty()) return {};
    const auto product =
        std::ranges::find_if(rest, [&](u32 n) { return is_product(graph_.nodes[n]); });
    if (is_named(graph_.nodes[*product], "ConvTranspose")) return {};
    const s32 cast = producer(graph_.nodes[*product].input(kX));
    if (cast < 0 || !is_widening(graph_, graph_.nodes[static_cast<size_t>(cast)])) return {};
    const s32 from = producer(node_input(cast));
    if (!take_if(from, is_narrowing) || producer(node_input(from)) >= 0) return {};
    return sorted();
  }

  // A caller's reals of f32 as they are, and the rest.
  std::vector<u32> chain_of_reals() {
    std::vector<u32> rest = chain("");
    const auto product =
        std::ranges::find_if(rest, [&](u32 n) { return is_product(graph_.nodes[n]); });
    const bool brought = product != rest.end() &&
                         !is_named(graph_.nodes[*product], "ConvTranspose") &&
                         producer(graph_.nodes[*product].input(kX)) < 0;
    return brought ? rest : std::vector<u32>{};
  }

  std::vector<u32> chain(std::string_view grid) {
    take(at_);
    if (is_narrowing(graph_, node())) {
      if (!step_back()) return {};
    } else {
      if (is_named(node(), "QuantizeLinear") && !step_back()) return {};
      if (is_named(node(), "RoundTo") && !step_back()) return {};
    }
    const bool sum = is_sum(graph_, node());
    if (sum && !step_back_from_sum()) return {};
    if (end_function(node()) != EndFunction::none && !step_back_from_function()) return {};
    if (!is_product(node())) return {};
    const u32 product = at_;
    if (sum && node().input(kResidual) != kNoValue) return {};
    if (!sum) take_residual(node().input(kResidual));
    if (!grid.empty())
      return is_on_grid(graph_, uses_, node().input(kX), grid) ? sorted() : std::vector<u32>{};
    const s32 from = producer(graph_.nodes[product].input(kX));
    if (take_if(from, is_widening) || take_if(from, is_dequantize)) return sorted();
    if (from >= 0 && is_named(graph_.nodes[static_cast<size_t>(from)], "RoundTo") &&
        reads_rounded_codes(graph_, graph_.nodes[product],
                            graph_.nodes[static_cast<size_t>(from)]) &&
        take_rounded_codes(static_cast<u32>(from)))
      return sorted();
    // The other kinds find these nodes, and know more of x.
    const ValueId x = graph_.nodes[product].input(kX);
    if (is_on_grid(graph_, uses_, x, "f16") || is_on_grid(graph_, uses_, x, "bf16")) return {};
    return sorted();
  }

 private:
  const Node& node() const { return graph_.nodes[at_]; }
  s32 producer(ValueId id) const { return id == kNoValue ? -1 : uses_.producer(id); }
  ValueId node_input(s32 n) const { return graph_.nodes[static_cast<size_t>(n)].input(0); }
  void take(u32 n) { chain_.push_back(n); }
  // On to the producer of the node's first input.
  bool step_back() {
    const s32 from = producer(node().input(0));
    if (from < 0) return false;
    take(at_ = static_cast<u32>(from));
    return true;
  }
  // To the function or product whose rounded reals are added, past their rounding or casts; what is added to them is a residual.
  bool step_back_from_sum() {
    const Node& sum = node();
    for (const size_t i : {size_t{1}, size_t{0}}) {
      const std::vector<u32> between = to_summand(sum.inputs[i]);
      if (between.empty()) continue;
      for (const u32 n : between) take(n);
      at_ = between.back();
      take_residual(sum.inputs[1 - i]);
      return true;
    }
    return false;
  }
  // From a value that the sum alone reads, back to a function of one value, or to a product that is rounded; empty where there is none.
  std::vector<u32> to_summand(ValueId id) const {
    std::vector<u32> between;
    bool widened = false;
    for (s32 n; is_read_once(graph_, uses_, id) && (n = producer(id)) >= 0;) {
      const Node& from = graph_.nodes[static_cast<size_t>(n)];
      between.push_back(static_cast<u32>(n));
      const bool first = between.size() == 1;
      if (end_function(from) != EndFunction::none || (is_product(from) && !first)) return between;
      const bool rounds =
          (first && is_named(from, "RoundTo")) || (widened && is_narrowing(graph_, from));
      widened = first && is_widening(graph_, from);
      if (!rounds && !widened) break;
      id = from.inputs[0];
    }
    return {};
  }
  // To the product, past its rounding or the casts to 16 bits and back.
  bool step_back_from_function() {
    if (!step_back()) return false;
    if (is_widening(graph_, node())) {
      if (!step_back() || !is_narrowing(graph_, node())) return false;
      return step_back();
    }
    return !is_named(node(), "RoundTo") || step_back();
  }
  static bool is_dequantize(const Graph&, const Node& node) {
    return is_named(node, "DequantizeLinear");
  }
  // One that nobody else reads: a chain holds no other.
  template <class Is>
  bool take_if(s32 n, const Is& is) {
    if (n < 0) return false;
    const Node& node = graph_.nodes[static_cast<size_t>(n)];
    if (!is(graph_, node) || !is_read_once(graph_, uses_, node.outputs[0])) return false;
    take(static_cast<u32>(n));
    return true;
  }
  void take_residual(ValueId residual) {
    const s32 from = producer(residual);
    if (take_if(from, is_widening) || take_if(from, is_dequantize) || from < 0) return;
    if (is_named(graph_.nodes[static_cast<size_t>(from)], "RoundTo"))
      take_rounded_codes(static_cast<u32>(from));
  }
  bool take_rounded_codes(u32 round) {
    const Node& node = graph_.nodes[round];
    if (!is_read_once(graph_, uses_, node.outputs[0]) ||
        !take_if(producer(node.input(0)), is_dequantize))
      return false;
    take(round);
    return true;
  }
  std::vector<u32> sorted() {
    std::ranges::sort(chain_);
    return chain_;
  }

  const Graph& graph_;
  const Uses& uses_;
  u32 at_;
  std::vector<u32> chain_;
};

// A chain's parts, told apart by what they stand before or behind.
class Reader {
 public:
  Reader(const LowerRequest& request, FloatProduct& product)
      : request_(request), body_(chain_body(request.node)), product_(product) {}

  std::string read() {
    for (const Node& node : body_.nodes) {
      if (is_product(node)) inner_ = &node;
    }
    residual_ = inner_->input(kResidual);
    for (const Node& node : body_.nodes) {
      if (is_sum(body_, node)) find_sum(node);
    }
    for (size_t i = 0; i < body_.nodes.size(); ++i) {
      if (std::string reason = read_part(i); !reason.empty()) return reason;
    }
    for (const size_t i : {kX, kBias, kResidual}) {
      const ValueId id = i == kResidual ? residual_ : inner_->input(i);
      const bool brought = id != kNoValue && !body_.is_constant(id);
      const std::optional<size_t> from = outside(id);
      if (brought && !from) return "an operand is made of constants";
      if (!from) continue;
      (i == kX      ? product_.x_input
       : i == kBias ? product_.bias_input
                    : product_.residual_input) = *from;
    }
    return {};
  }

 private:
  // Of both operands the residual is the one that the product does not lead to.
  void find_sum(const Node& node) {
    sum_ = &node;
    residual_ = node.inputs[leads_to_product(node.inputs[0]) ? 1 : 0];
  }
  bool leads_to_product(ValueId id) const {
    for (const Node& node : body_.nodes) {
      if (node.outputs[0] == id) return &node == inner_ || leads_to_product(node.input(0));
    }
    return false;
  }

  std::string read_part(size_t i) {
    const Node& node = body_.nodes[i];
    if (&node == inner_) {
      behind_ = true;
      return read_product(part_request(request_, i), product_);
    }
    if (&node == sum_) {
      product_.has_residual = product_.residual_last = true;
      product_.y_type = Number::f32;
      return {};
    }
    if ((!behind_ || sum_ != nullptr) && is_of_residual(node)) return read_residual(node);
    if (is_named(node, "DequantizeLinear")) return read_scaling(body_, node, product_.dequantized);
    if (is_named(node, "QuantizeLinear")) return read_scaling(body_, node, product_.quantized);
    if (is_named(node, "MaxPool")) return {};  // families/stem/ knows more of it
    if (behind_ && end_function(node) != EndFunction::none) {
      product_.function = function_end(node);
      product_.y_type = Number::f32;
      return {};
    }
    if (is_widening(body_, node)) {
      if (behind_) return {};  // to the function
      product_.grid = product_.x_type = number_of(body_.value(node.inputs[0]).type.dtype);
      return {};
    }
    const Number type = rounding_of(body_, node);
    if (!behind_) {
      product_.grid = type;
    } else {
      (product_.residual_last                        ? product_.sum_rounded
       : product_.function.kind == EndFunction::none ? product_.rounded
                                                     : product_.function.rounded) = type;
      if (is_narrowing(body_, node)) product_.y_type = type;
    }
    return {};
  }

  // A part that the residual goes through, and not x.
  bool is_of_residual(const Node& node) const {
    if (residual_ == kNoValue || residual_ == inner_->input(kX)) return false;
    if (node.outputs[0] == residual_) return true;
    return std::ranges::any_of(body_.nodes, [&](const Node& next) {
      return next.outputs[0] == residual_ && &next != inner_ && next.input(0) == node.outputs[0];
    });
  }
  std::string read_residual(const Node& node) {
    if (is_named(node, "DequantizeLinear"))
      return read_scaling(body_, node, product_.residual_codes);
    if (is_widening(body_, node)) {
      product_.residual_type = number_of(body_.value(node.inputs[0]).type.dtype);
    } else {
      product_.residual_rounded = rounding_of(body_, node);
    }
    return {};
  }

  // The input of the chain that a value comes from, through parts of one input.
  std::optional<size_t> outside(ValueId id) const {
    if (id == kNoValue) return std::nullopt;
    for (const Node& node : body_.nodes) {
      if (node.outputs[0] == id) return outside(node.input(0));
    }
    return chain_input(request_.node, id);
  }

  const LowerRequest& request_;
  const Graph& body_;
  FloatProduct& product_;
  const Node* inner_ = nullptr;
  const Node* sum_ = nullptr;  // of the product's or a function's rounded reals and the residual
  ValueId residual_ = kNoValue;
  bool behind_ = false;  // the product has been read
};

Offer offer_of(const LowerRequest& request, const FloatProduct& product) {
  if (product.transposed) return product_terms_offer(request, product);
  if (product.cin() == 1 && product.cout() == 1) return depthwise_real_offer(request, product);
  Candidates all;
  std::string reasons;
  for (const auto& offer_by : {product_wgmma_offer, terms_wgmma_offer, product_terms_offer}) {
    const Offer offer = offer_by(request, product);
    if (const Reject* no = std::get_if<Reject>(&offer))
      reasons += (reasons.empty() ? "" : "; in terms: ") + no->reason;
    if (const Candidate* one = std::get_if<Candidate>(&offer)) all.push_back(*one);
    if (const Candidates* several = std::get_if<Candidates>(&offer))
      all.insert(all.end(), several->begin(), several->end());
  }
  if (all.empty()) return Reject{reasons};
  return all;
}

}  // namespace

std::array<u16, 3> bf16_terms(f32 value) {
  std::array<u16, 3> terms{};
  for (u16& term : terms) {
    const u32 upper = std::bit_cast<u32>(value) & 0xFFFF0000u;
    term = static_cast<u16>(upper >> 16);
    value -= std::bit_cast<f32>(upper);
  }
  return terms;
}

std::string read_float_product(const LowerRequest& request, FloatProduct& product) {
  if (!is_chain(request.node)) return read_product(request, product);
  if (std::string reason = Reader(request, product).read(); !reason.empty()) return reason;
  const std::string kind = chain_kind(request.node);
  if (kind == "f16_product") product.grid = Number::f16;
  if (kind == "bf16_product") product.grid = Number::bf16;
  return {};
}

Offer lower_float_product(const LowerRequest& request) {
  FloatProduct product;
  if (std::string reason = read_float_product(request, product); !reason.empty())
    return Reject{reason};
  return offer_of(request, product);
}

std::vector<u32> find_float_product(const Graph& graph, const Uses& uses, u32 last) {
  return Finder(graph, uses, last).chain("");
}
std::vector<u32> find_image_product(const Graph& graph, const Uses& uses, u32 last) {
  return Finder(graph, uses, last).chain_of_image();
}
std::vector<u32> find_product_of_reals(const Graph& graph, const Uses& uses, u32 last) {
  return Finder(graph, uses, last).chain_of_reals();
}
std::vector<u32> find_f16_product(const Graph& graph, const Uses& uses, u32 last) {
  return Finder(graph, uses, last).chain("f16");
}
std::vector<u32> find_bf16_product(const Graph& graph, const Uses& uses, u32 last) {
  return Finder(graph, uses, last).chain("bf16");
}

}  // namespace octet::cuda
