// SPDX-License-Identifier: Apache-2.0
// The front of a network as one kernel: QuantizeLinear of an image, QConv of few channels with stride 2, and perhaps MaxPool of 3x3 with stride 2
// behind it.
#include <algorithm>

#include "backends/cuda/families/stem/front.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_request.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using stem::Spec;

struct Stem {
  StemFront front;
  ConvRequest conv;  // y: of the chain
  f32 scale = 1.0f;
};

std::string read_image(const LowerRequest& request, Stem& stem) {
  const Tensor *scale = request.constant(1), *zero_point = request.constant(2);
  if (request.constant(0) != nullptr) return "the image is a constant";
  if (request.inputs[0].dtype != Dtype::f32) return "the image is not f32";
  if (scale == nullptr || scale->dtype() != Dtype::f32 || scale->elements() != 1)
    return "there is not one constant scale";
  s32 zero = 0;
  if (request.has_input(2)) {
    if (zero_point == nullptr || zero_point->elements() != 1) return "there is not one zero point";
    zero = zero_point->dtype() == Dtype::u8 ? s32{zero_point->as<u8>()[0]}
                                            : s32{zero_point->as<s8>()[0]};
  }
  if (zero != stem.conv.product.epilogue.zero_point(kProductX))
    return "the convolution has another zero point";
  stem.front.image = request.inputs[0].shape;
  stem.scale = scale->as<f32>()[0];
  return {};
}

std::string reject_conv(const Stem& stem) {
  const ConvRequest& conv = stem.conv;
  if (std::string reason = reject_stem(stem.front); !reason.empty()) return reason;
  if (conv.product.real()) return "the result is no codes";
  return conv.product.has_residual || conv.product.has_addend ? "something is added" : "";
}

// Whether a larger sum has the larger code, and no sum wraps.
std::string reject_order(const Product& product, const ConvRequest& conv) {
  constexpr s64 kFar = 1 << 30;
  const Activation& activation = product.epilogue.activation;
  if (product.table) return "codes go through a table before the pool";
  if (activation.kind == Activation::Kind::leaky_relu && !(activation.alpha >= 0))
    return "the activation falls";
  if (!std::ranges::all_of(product.multiplier.as<f32>(), [](f32 m) { return m >= 0; }))
    return "a multiplier is negative";
  for (s64 c = 0; c < conv.cout(); ++c) {
    s64 sum = product.bias ? std::abs(s64{product.bias.as<s32>()[static_cast<size_t>(c)]}) : 0;
    conv.for_each_weight(c, [&](s64, s64, s8 weight) { sum += 2 * 255 * std::abs(s64{weight}); });
    if (sum >= kFar) return "sums may wrap";
  }
  return {};
}

std::string read_pool(const LowerRequest& request, Stem& stem) {
  if (std::string reason = read_stem_pool(request, stem.front); !reason.empty()) return reason;
  return reject_order(stem.conv.product, stem.conv);
}

std::string read_stem(const LowerRequest& request, Stem& stem) {
  if (std::string reason = read_conv(part_request(request, 1), stem.conv); !reason.empty())
    return reason;
  if (std::string reason = read_image(part_request(request, 0), stem); !reason.empty())
    return reason;
  stem.front.geometry = stem.conv.geometry;
  if (std::string reason = reject_conv(stem); !reason.empty()) return reason;
  stem.conv.t_fits = stem.conv.sums_fit();
  stem.conv.y = stem.front.y = request.outputs[0].shape;
  return chain_body(request.node).nodes.size() > 2 ? read_pool(part_request(request, 2), stem) : "";
}

stem::Codes codes_of(const Stem& stem) {
  const bool is_signed = stem.conv.product.x_s8;
  const s32 zero_point = stem.conv.product.epilogue.zero_point(kProductX);
  const CodeRange range = code_range(is_signed ? Dtype::s8 : Dtype::u8);
  const f32 reciprocal = reciprocal_of(stem.scale);
  return {.is_signed = is_signed,
          .zero_point = zero_point,
          .scale = bits_of(stem.scale),
          .fast = reciprocal != 0,
          .reciprocal = bits_of(reciprocal),
          .least = bits_of(static_cast<f32>(range.lo - zero_point) * stem.scale),
          .most = bits_of(static_cast<f32>(range.hi - zero_point) * stem.scale)};
}

Spec spec_of(const Stem& stem) {
  Spec spec = stem_spec(stem.front);
  spec.number = stem.conv.product.x_s8 ? Number::s8 : Number::u8;
  spec.w_terms = 1;
  spec.codes = codes_of(stem);
  spec.end = epilogue_spec(stem.conv.product);
  spec.end.t_fits = stem.conv.t_fits;
  return spec;
}

// A lane's word of k: a channel of a group of cells; no group: nothing.
struct StemWord {
  s64 group = -1, channel = 0;
};
StemWord word_of(const Spec& spec, s64 block, s64 half) {
  const s64 channels = spec.x.channels, pairs = channels / 2;
  const s64 single = block - paired_blocks(spec), groups = spec.groups;
  if (single < 0) return {block / pairs, block % pairs * 2 + half};
  if (half == 0) return {single % groups, channels - 1};
  return single < groups ? StemWord{(single + 1) % groups, channels - 1} : StemWord{};
}

// Of an output channel, for a pixel of the word in the cell of lane q.
s8 weight_of(const Stem& stem, const Spec& spec, s64 channel, const StemWord& word, s64 place) {
  const ConvRequest& conv = stem.conv;
  if (channel >= conv.cout() || word.group < 0) return 0;
  const s64 tap = stem_tap(stem.front, spec, word.group, place % 16 / 4, place % 4);
  return tap < 0 ? s8{0} : conv.weight(channel, tap * conv.cin() + word.channel);
}

// stem::Params::weights.
std::vector<std::byte> packed_stem(const Stem& stem, const Spec& spec) {
  const s32 all = weight_blocks(spec) * spec.bn * stem::kKBytes;
  std::vector<std::byte> bytes(static_cast<size_t>(all));
  for (s32 i = 0; i < all; ++i) {
    const s32 at = i % stem::kKBytes, row = i / stem::kKBytes % spec.bn;
    const s32 channel = channel_of_row(row, spec);
    const StemWord word = word_of(spec, i / stem::kKBytes / spec.bn, at / 16);
    bytes[static_cast<size_t>(swizzled_stem_byte(i))] =
        static_cast<std::byte>(weight_of(stem, spec, channel, word, at));
  }
  return bytes;
}

Launch launch_of(const Stem& stem, const Spec& chosen, const BindArgs& bind) {
  Spec spec = placed_stem(stem.front, chosen, bind, stem.conv.output_strides(bind.outputs[0]));
  spec.y_access = field_of(output_access(stem.conv, bind, own_channels(spec)));
  return stem_launch(stem.front, spec);
}

Candidate candidate_for(const LowerRequest& request, const Stem& stem, const Spec& spec) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = stem_candidate(request, stem.front, spec);
  set_step(
      candidate, device,
      {.make_launch = [stem, spec](const BindArgs& bind) { return launch_of(stem, spec, bind); },
       .recipes =
           [stem, spec](const BindArgs&) {
             const ConvRequest& conv = stem.conv;
             return conv_blobs(conv, {fmt::format("stem {} {} {}", stem.front.phase(conv.h()),
                                                  stem.front.phase(conv.w()), spec.bn),
                                      {conv.weights},
                                      [stem, spec] { return packed_stem(stem, spec); }});
           }},
      [product = stem.conv.product](const StepData& data) {
        return stem::Params{reinterpret_cast<const f32*>(data.input(0)),
                            data.blob<u8>(0),
                            epilogue_params(product, data, 1),
                            {}};
      });
  return candidate;
}

}  // namespace

std::vector<u32> find_stem(const Graph& graph, const Uses& uses, u32 last) {
  const auto before = [&](const Node& node, std::string_view op) {
    const s32 from =
        node.inputs.empty() || node.input(0) == kNoValue ? -1 : uses.producer(node.input(0));
    return from >= 0 && graph.nodes[static_cast<size_t>(from)].op->name == op ? from : -1;
  };
  std::vector<u32> chain{last};
  if (graph.nodes[last].op->name == "MaxPool") {
    const s32 conv = before(graph.nodes[last], "QConv");
    if (conv < 0) return {};
    chain.insert(chain.begin(), static_cast<u32>(conv));
  }
  if (graph.nodes[chain[0]].op->name != "QConv") return {};
  const s32 quantize = before(graph.nodes[chain[0]], "QuantizeLinear");
  if (quantize < 0) return {};
  chain.insert(chain.begin(), static_cast<u32>(quantize));
  return chain;
}

Offer offer_stem(const LowerRequest& request) {
  Stem stem;
  if (request.inputs.size() != 1) return Reject{"the convolution has another input"};
  if (std::string reason = read_stem(request, stem); !reason.empty()) return Reject{reason};
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  Candidates candidates;
  for (const Spec& spec : stem_specs(stem.front, spec_of(stem), device_of(request).chip())) {
    candidates.push_back(candidate_for(request, stem, spec));
    // Estimates do not tell them apart: measurements do.
    candidates.back().cost = candidates.front().cost;
    if (!measured) break;
  }
  if (candidates.empty()) return Reject{"no tile fits the chip"};
  return candidates;
}

}  // namespace octet::cuda
