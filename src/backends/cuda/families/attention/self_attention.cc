// SPDX-License-Identifier: Apache-2.0
// Attention behind the three products by constant weights that make its queries, keys and values of one value: those are one product,
// whose results lie one behind another in the step's workspace.
#include <algorithm>
#include <array>
#include <optional>

#include "backends/cuda/families/attention/attention.h"
#include "backends/cuda/lower/conv_request.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

constexpr size_t kOperands = 3;  // queries, keys, values

// The nodes behind which an operand of attention is made.
struct OperandNodes {
  u32 product, reshape;
};
using AllOperands = std::array<OperandNodes, kOperands>;

std::optional<AllOperands> operands_of(const Graph& graph, const Uses& uses,
                                       const std::vector<u32>& attention) {
  const NodeInput inputs[kOperands] = {{attention.front(), kProductX},
                                       {attention.front(), kProductWeights},
                                       {attention.back(), kProductWeights}};
  AllOperands all{};
  for (size_t i = 0; i < kOperands; ++i) {
    const s32 reshape = producer_of(graph, uses, inputs[i], "Reshape");
    if (reshape < 0) return {};
    all[i].reshape = static_cast<u32>(reshape);
    const s32 product = producer_of(graph, uses, {all[i].reshape, 0}, "QMatMul");
    if (product < 0) return {};
    all[i].product = static_cast<u32>(product);
    const auto x_of = [&](size_t k) { return graph.nodes[all[k].product].input(kProductX); };
    if (x_of(i) != x_of(0)) return {};
  }
  return all;
}

// A product by constant weights whose codes use the whole range of their type, and nothing is added.
std::string read_operand(const LowerRequest& request, ConvRequest& conv) {
  if (std::string reason = read_linear(request, conv); !reason.empty()) return reason;
  const Product& product = conv.product;
  const Epilogue& epilogue = product.epilogue;
  if (product.has_residual || product.has_addend || product.table)
    return "something is added to an operand";
  if (product.real() || epilogue.activation.kind != Activation::Kind::none)
    return "an operand is not codes of a product alone";
  const CodeRange range = code_range(epilogue.output_dtype);
  if (epilogue.range.lo != range.lo || epilogue.range.hi != range.hi)
    return "codes of an operand are clamped";
  return {};
}

// Of the same reals as s8.
s32 signed_zero_point(s32 zero_point, bool is_s8) {
  constexpr s32 kMiddle = 128;
  return is_s8 ? zero_point : zero_point - kMiddle;
}

template <class T>
Tensor one_behind_another(const std::array<ConvRequest, kOperands>& all, Tensor Product::*member) {
  const size_t columns = static_cast<size_t>(all[0].cout());
  Tensor joined(DtypeOf<T>::value, {all[0].cout() * static_cast<s64>(kOperands)});
  T* to = joined.mutable_as<T>().data();
  for (size_t i = 0; i < kOperands; ++i) {
    const Tensor& own = all[i].product.*member;
    for (size_t c = 0; c < columns; ++c) {
      const std::span<const T> values = own ? own.as<T>() : std::span<const T>();
      to[i * columns + c] = values.empty() ? T{0} : values[values.size() == 1 ? 0 : c];
    }
  }
  return joined;
}

ConvRequest joined(const std::array<ConvRequest, kOperands>& all) {
  ConvRequest conv = all[0];
  const s64 n = conv.cout() * static_cast<s64>(kOperands), rows = conv.pixels();
  conv.geometry = rows_as_pixels(rows, conv.cin(), n);
  conv.y = Shape{rows, n};
  conv.product.bias = one_behind_another<s32>(all, &Product::bias);
  conv.product.multiplier = one_behind_another<f32>(all, &Product::multiplier);
  conv.product.epilogue.output_dtype = Dtype::s8;
  conv.product.epilogue.range = code_range(Dtype::s8);
  for (const ConvRequest& one : all) {
    const Epilogue& epilogue = one.product.epilogue;
    conv.parts.push_back({one.weights, signed_zero_point(epilogue.range.zero_point,
                                                         epilogue.output_dtype == Dtype::s8)});
    conv.sources.insert(conv.sources.end(),
                        {one.weights, one.product.bias, one.product.multiplier});
  }
  return conv;
}

std::string read_products(const LowerRequest& request, ConvRequest& conv) {
  const Graph& body = chain_body(request.node);
  const Uses uses(body);
  const u32 last = static_cast<u32>(body.nodes.size() - 1);
  const AllOperands nodes = *operands_of(body, uses, find_attention(body, uses, last));
  std::array<ConvRequest, kOperands> all;
  for (size_t i = 0; i < kOperands; ++i) {
    const LowerRequest part = part_request(request, nodes[i].product);
    if (std::string reason = read_operand(part, all[i]); !reason.empty()) return reason;
    if (all[i].cout() != all[0].cout()) return "operands differ in width";
    const auto zero_point = [&](size_t k) { return all[k].product.epilogue.zero_point(kProductX); };
    if (zero_point(i) != zero_point(0)) return "operands are made with different zero points";
  }
  conv = joined(all);
  return {};
}

// Operands are inputs 0, 1, 2 of attention, a mask is the third, all of them s8.
void read_from_workspace(Heads& heads) {
  std::vector<s32>&by_keys = heads.scores.epilogue.zero_points,
  &by_values = heads.context.epilogue.zero_points;
  by_keys.resize(kProductWeights + 1), by_values.resize(kProductWeights + 1);
  const auto turn = [](s32& zero_point, bool& is_s8) {
    zero_point = signed_zero_point(zero_point, is_s8);
    is_s8 = true;
  };
  turn(by_keys[kProductX], heads.scores.x_s8);
  turn(by_keys[kProductWeights], heads.keys_s8);
  turn(by_values[kProductWeights], heads.values_s8);
  heads.queries = 0, heads.keys = 1, heads.values = 2;
}

// Where things are for either kernel of the step.
struct SelfAttention {
  s64 part_bytes = 0;                // of queries, of keys, of values
  std::optional<size_t> mask_input;  // of the chain

  BindArgs of_product(const BindArgs& bind) const {
    BindArgs own;
    own.inputs = {bind.inputs[kProductX]}, own.outputs = {Placement{}};
    own.input_offsets = {bind.input_offset(kProductX)}, own.output_offsets = {0};
    return own;
  }
  BindArgs of_attention(const BindArgs& bind) const {
    constexpr s64 kAlignment = 64;
    BindArgs own;
    own.inputs.resize(kOperands + 1);
    own.outputs = bind.outputs, own.output_offsets = {bind.output_offset(0)};
    own.input_offsets = {0, part_bytes % kAlignment, 2 * part_bytes % kAlignment,
                         mask_input ? bind.input_offset(*mask_input) : 0};
    return own;
  }
  RunStep step(const RunStep& product, const RunStep& attention) const {
    return [*this, product, attention](const StepArgs& args) {
      std::byte* const workspace = args.workspace;
      product({args.inputs, &workspace, nullptr, args.queue});
      const std::byte* const from[] = {workspace, workspace + part_bytes,
                                       workspace + 2 * part_bytes,
                                       mask_input ? args.inputs[*mask_input] : nullptr};
      attention({from, args.outputs, nullptr, args.queue});
    };
  }
};

Candidate behind_product(const SelfAttention& self, const Candidate& product,
                         const Candidate& attention) {
  Candidate candidate = attention;
  candidate.kernel = fmt::format("{}_of_{}", attention.kernel, product.kernel);
  candidate.alignment = product.alignment;
  candidate.cost += product.cost;
  candidate.workspace_bytes = self.part_bytes * static_cast<s64>(kOperands);
  candidate.prepare = [=](const BindArgs& bind) {
    std::vector<Preparation> all = product.prepare(self.of_product(bind));
    for (Preparation& own : attention.prepare(self.of_attention(bind)))
      all.push_back(std::move(own));
    return all;
  };
  candidate.bind = [=](const BindArgs& bind) {
    BindArgs first = self.of_product(bind), second = self.of_attention(bind);
    const auto end = bind.prepared.end() - std::ssize(attention.prepare(second));
    first.prepared.assign(bind.prepared.begin(), end);
    second.prepared.assign(end, bind.prepared.end());
    return self.step(product.bind(first), attention.bind(second));
  };
  return candidate;
}

}  // namespace

std::vector<u32> find_self_attention(const Graph& graph, const Uses& uses, u32 last) {
  std::vector<u32> nodes = find_attention(graph, uses, last);
  if (nodes.empty()) return {};
  const std::optional<AllOperands> operands = operands_of(graph, uses, nodes);
  if (!operands) return {};
  for (const OperandNodes& operand : *operands) {
    nodes.push_back(operand.product);
    nodes.push_back(operand.reshape);
  }
  std::ranges::sort(nodes);
  const bool repeated = std::ranges::adjacent_find(nodes) != nodes.end();
  return repeated ? std::vector<u32>{} : nodes;
}

Offer offer_self_attention(const LowerRequest& request) {
  Heads heads;
  ConvRequest conv;
  if (std::string reason = read_heads(request, heads); !reason.empty()) return Reject{reason};
  if (std::string reason = read_products(request, conv); !reason.empty()) return Reject{reason};
  SelfAttention self{.part_bytes = conv.pixels() * conv.columns(), .mask_input = {}};
  if (heads.mask.exists && !heads.mask.constant) {
    self.mask_input = heads.mask.input;
    heads.mask.input = kOperands;
  }
  read_from_workspace(heads);
  Offer product = conv_wgmma_offer(request, conv, Layout::linear);
  const Candidates* products = std::get_if<Candidates>(&product);
  if (products == nullptr) return product;
  const Candidates attentions = heads_candidates(request, heads);
  if (attentions.empty()) return Reject{"no tile fits the chip"};
  Candidates all;
  for (const Candidate& each : *products) all.push_back(behind_product(self, each, attentions[0]));
  for (size_t i = 1; i < attentions.size(); ++i)
    all.push_back(behind_product(self, products->front(), attentions[i]));
  return all;
}

}  // namespace octet::cuda
