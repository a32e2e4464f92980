// SPDX-License-Identifier: Apache-2.0
// The front of a network in floats: an image of f32, which is rounded to 16 bits for it or not, Conv of few channels with stride 2 and what float_product.cc finds behind it, and
// perhaps MaxPool of 3x3 with stride 2.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/cuda/families/stem/front.h"
#include "backends/cuda/lower/float_product.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using stem::Spec;

struct RealStem {
  StemFront front;
  FloatProduct product;
};

bool is_pool(const Node& node) { return node.op->name == "MaxPool"; }

// Rounding, bias and codes keep the order of sums.
std::string reject_order(const FloatProduct& product) {
  if (product.function.kind != EndFunction::none) return "a function stands before the pool";
  const Activation& activation = product.activation;
  const bool falls = activation.kind == Activation::Kind::leaky_relu && !(activation.alpha >= 0);
  return falls ? "the activation falls" : "";
}

std::string reject_operands(const FloatProduct& product) {
  if (product.rows) return "it is no convolution";
  if (product.dequantized) return "the image is codes";
  if (product.x_type != product.grid) return "the image is rounded before";
  if ((product.x_type == Number::f16 && !product.facts.f16) ||
      (product.x_type == Number::bf16 && !product.facts.bf16))
    return "a weight is not of the image's type";
  if (product.has_residual) return "something is added";
  return product.has_bias && !product.bias ? "the bias is no constant" : "";
}

std::string read_stem(const LowerRequest& request, RealStem& stem) {
  FloatProduct& product = stem.product;
  if (std::string reason = device_of(request).chip().reject_without({Instruction::wgmma});
      !reason.empty())
    return reason;
  if (std::string reason = read_float_product(request, product); !reason.empty()) return reason;
  if (std::string reason = reject_operands(product); !reason.empty()) return reason;
  stem.front.geometry = product.geometry;
  stem.front.image = product.x;
  stem.front.y = request.outputs[0].shape;
  if (std::string reason = reject_stem(stem.front); !reason.empty()) return reason;
  if (!is_chain(request.node)) return {};
  const size_t last = chain_body(request.node).nodes.size() - 1;
  if (!is_pool(chain_body(request.node).nodes[last])) return {};
  if (std::string reason = read_stem_pool(part_request(request, last), stem.front); !reason.empty())
    return reason;
  return reject_order(product);
}

Spec spec_of(const RealStem& stem) {
  Spec spec = stem_spec(stem.front);
  const StemFront& front = stem.front;
  spec.number = stem.product.x_type;
  spec.w_terms = spec.number == Number::f32 && !stem.product.facts.bf16 ? 3 : 1;
  spec.window = {.h = field_of(front.h().kernel),
                 .w = field_of(front.w().kernel),
                 .phase_h = field_of(front.phase(front.h())),
                 .phase_w = field_of(front.phase(front.w()))};
  spec.real_end = real_end(stem.product);
  return spec;
}

std::array<u16, 3> terms_of(f32 weight, Number number) {
  return number == Number::f16 ? std::array<u16, 3>{f16(weight).bits} : bf16_terms(weight);
}

// stem::Params::weights.
std::vector<std::byte> packed_stem(const RealStem& stem, const Spec& spec) {
  constexpr s32 kNumbers = stem::kKBytes / s32{sizeof(u16)};
  const FloatProduct& product = stem.product;
  const s32 channels = spec.x.channels;
  std::vector<u16> words(static_cast<size_t>(s64{weight_blocks(spec)} * spec.bn * kNumbers));
  for (s32 i = 0; i < spec.groups * channels * spec.cout * kNumbers; ++i) {
    const s32 k = i % kNumbers, out = i / kNumbers % spec.cout, block = i / kNumbers / spec.cout;
    const s64 tap = stem_tap(stem.front, spec, block / channels, k % 8 / 2, k / 8 * 2 + k % 2);
    if (tap < 0) continue;
    const std::array<u16, 3> terms =
        terms_of(product.weight(out, tap * channels + block % channels), spec.number);
    for (s32 t = 0; t < spec.w_terms; ++t)
      words[static_cast<size_t>(word_of_weight(block * spec.w_terms + t, row_of_channel(out, spec),
                                               k, spec))] = terms[static_cast<size_t>(t)];
  }
  return bytes_of(std::span<const u16>(words));
}

Launch launch_of(const RealStem& stem, const Spec& chosen, const BindArgs& bind) {
  const s64 channels = stem.product.geometry.out_channels, y_bytes = bytes_of(chosen.real_end.y);
  Spec spec = placed_stem(stem.front, chosen, bind, pixel_strides(stem.front.y, bind.outputs[0]));
  constexpr s64 kWidest = 16;
  spec.y_access = field_of(pixel_access(std::min<s64>(kWidest / y_bytes, own_channels(spec)),
                                        channels, spec.y, bind.output_offset(0) / y_bytes));
  return stem_launch(stem.front, spec);
}

std::vector<BlobRecipe> blobs(const RealStem& stem, const Spec& spec) {
  const StemFront& front = stem.front;
  std::vector<BlobRecipe> all;
  all.push_back(
      {fmt::format("stem of reals {} {} {} {} {}", front.phase(front.h()), front.phase(front.w()),
                   spec.bn, spec.number == Number::f16, spec.w_terms),
       {stem.product.weights},
       [stem, spec] { return packed_stem(stem, spec); }});
  if (stem.product.bias) all.push_back(constant_blob(stem.product.bias));
  return all;
}

Candidate candidate_for(const LowerRequest& request, const RealStem& stem, const Spec& spec) {
  Candidate candidate = stem_candidate(request, stem.front, spec);
  candidate.close = true;
  set_step(
      candidate, device_of(request),
      {.make_launch = [stem, spec](const BindArgs& bind) { return launch_of(stem, spec, bind); },
       .recipes = [stem, spec](const BindArgs&) { return blobs(stem, spec); }},
      [product = stem.product](const StepData& data) {
        return stem::Params{reinterpret_cast<const f32*>(data.input(product.x_input)),
                            data.blob<u8>(0),
                            {},
                            real_end_params(product, data, 1)};
      });
  return candidate;
}

// Of an image that is rounded, or of one that is not.
std::vector<u32> find_front(const Graph& graph, const Uses& uses, u32 last) {
  std::vector<u32> chain = find_image_product(graph, uses, last);
  return chain.empty() ? find_product_of_reals(graph, uses, last) : chain;
}

}  // namespace

std::vector<u32> find_real_stem(const Graph& graph, const Uses& uses, u32 last) {
  const Node& node = graph.nodes[last];
  if (!is_pool(node)) return find_front(graph, uses, last);
  const s32 from = uses.producer(node.input(0));
  if (from < 0) return {};
  std::vector<u32> chain = find_front(graph, uses, static_cast<u32>(from));
  if (!chain.empty()) chain.push_back(last);
  return chain;
}

// Of a chain, or of a convolution alone.
Offer offer_real_stem(const LowerRequest& request) {
  RealStem stem;
  if (std::string reason = read_stem(request, stem); !reason.empty()) return Reject{reason};
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  Candidates candidates;
  for (const Spec& spec : stem_specs(stem.front, spec_of(stem), device_of(request).chip())) {
    candidates.push_back(candidate_for(request, stem, spec));
    candidates.back().cost = candidates.front().cost;
    if (!measured) break;
  }
  if (candidates.empty()) return Reject{"no tile fits the chip"};
  return candidates;
}

}  // namespace octet::cuda
