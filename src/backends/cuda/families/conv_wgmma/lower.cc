// SPDX-License-Identifier: Apache-2.0
// QConv by warpgroups of a Hopper.
#include "backends/cuda/families/conv_wgmma/tile.h"
#include "backends/cuda/lower/conv_request.h"
#include "backends/cuda/lower/window_tiles.h"

namespace octet::cuda {
namespace {

using conv_wgmma::CostedSpec;
using conv_wgmma::Edge;
using conv_wgmma::Spec;

// For each class of pixels zero_point * (weights of the taps that lie in padding).
std::vector<s32> edge_sums(const ConvRequest& conv, s64 channels) {
  const Edge edge_h(conv.h()), edge_w(conv.w());
  const s64 taps_w = conv.w().kernel, cin = conv.cin();
  const auto zero_point = static_cast<u32>(conv.product.epilogue.zero_point(kProductX));
  std::vector<u32> sums(static_cast<size_t>(edge_h.classes() * edge_w.classes() * channels));
  const auto taps_of = [](const Edge& edge, const WindowAxis& axis, s64 index) {
    return index == 0 ? TapRange{0, axis.kernel} : taps_inside(axis, edge.output(index, axis));
  };
  for (s64 index = 0; index < edge_h.classes() * edge_w.classes(); ++index) {
    const TapRange h = taps_of(edge_h, conv.h(), index / edge_w.classes());
    const TapRange w = taps_of(edge_w, conv.w(), index % edge_w.classes());
    for (s64 i = 0; i < conv.cout() * conv.k(); ++i) {
      const s64 k = i % conv.k(), tap = k / cin, r = tap / taps_w, t = tap % taps_w;
      if (r >= h.first && r < h.last && t >= w.first && t < w.last) continue;
      const s64 c = i / conv.k();
      sums[static_cast<size_t>(index * channels + c)] +=
          zero_point * static_cast<u32>(conv.weight(c, k));
    }
  }
  return {sums.begin(), sums.end()};  // modulo 2^32, as the sums of the kernel
}

// Params::weights.
std::vector<std::byte> packed(const ConvRequest& conv, const Spec& spec) {
  const WindowTile& tile = spec.main.tile;
  const s64 chunk_bytes = s64{chunks(spec.main)} * tile.k_bytes, k = taps(spec.main) * chunk_bytes;
  const s32 rows = padded_channels(spec.main);
  std::vector<std::byte> bytes(static_cast<size_t>(rows * k));
  for (s32 row = 0; row < rows; ++row) {
    const s32 c = row - row % tile.group + channel_of_row(row % tile.group, tile);
    if (c >= conv.cout()) continue;
    conv.for_each_weight(c, [&](s64 tap, s64 i, s8 weight) {
      bytes[static_cast<size_t>(row * k + tap * chunk_bytes + i)] = static_cast<std::byte>(weight);
    });
  }
  return bytes;
}

Launch make_launch(const ConvRequest& conv, Spec spec, const Chip& chip, const BindArgs& bind) {
  spec.at = conv_operands(conv, bind);
  spec.y_access = field_of(output_access(conv, bind, own_channels(spec.main.tile)));
  const s64 blocks = tiled_blocks(spec.main, chip);
  spec.main.tile.rolled = is_rolled(spec.main, blocks);
  return {.source = source_of("conv_wgmma", spec),
          .shape = {.blocks = blocks,
                    .threads = threads(spec.main),
                    .shared_bytes = memory(spec).all,
                    .programmatic_dependent = true}};
}

// All of an axis that the sums depend on.
std::string edge_key(const WindowAxis& axis) {
  return fmt::format("{}>{} by {}, {} apart, {} dilated, {} padded", axis.in, axis.out, axis.kernel,
                     axis.stride, axis.dilation, axis.pad_begin);
}

std::vector<BlobRecipe> blobs(const ConvRequest& conv, const Spec& spec) {
  std::vector<BlobRecipe> all = conv_blobs(
      conv, {fmt::format("conv_wgmma {}x{} by {}, {} taps of {} {} {} {}", spec.main.tile.bn,
                         spec.main.tile.k_bytes, spec.main.tile.group, taps(spec.main), conv.cin(),
                         conv.strides.channel, conv.strides.cin, conv.strides.tap),
             conv.sources.empty() ? std::vector{conv.weights} : conv.sources,
             [conv, spec] { return packed(conv, spec); }});
  if (spec.edges.exist) {
    const s64 channels = padded_channels(spec.main);
    all.push_back({fmt::format("edges {} of {} {} {} {}", channels, conv.strides.channel,
                               spec.main.window.zero_point, edge_key(conv.h()), edge_key(conv.w())),
                   conv.sources.empty() ? std::vector{conv.weights} : conv.sources,
                   [conv, channels] { return bytes_of<s32>(edge_sums(conv, channels)); }});
  }
  return all;
}

std::string reject(const ConvRequest& conv, const CudaDevice& device) {
  if (std::string reason = device.chip().reject_without({Instruction::wgmma, Instruction::tma});
      !reason.empty())
    return reason;
  if (std::string reason = reject_window(conv.geometry, 1); !reason.empty()) return reason;
  for (const WindowAxis& axis : {conv.h(), conv.w()}) {
    if (Edge(axis).first + Edge(axis).last > axis.out) return "the image is small";
  }
  return {};
}

conv_wgmma::Params parameters(const ConvRequest& conv, const Spec& spec, const PixelStrides& x,
                              const StepData& data) {
  const WindowTile& tile = spec.main.tile;
  const CudaDevice& device = cuda_queue(data.args).device();
  const s64 k = s64{pieces(spec.main)} * tile.k_bytes;
  conv_wgmma::Params p{};
  p.x = tiled_x_map(spec.main, conv.geometry, x, device, data.input(kProductX));
  p.weights =
      rows_map(device, {k, padded_channels(spec.main), k, tile.k_bytes, tile.bn}, data.blob<u8>(0));
  p.border = spec.edges.exist ? data.blob<s32>(data.blobs.size() - 1) : nullptr;
  p.end = epilogue_params(conv.product, data, 1);
  return p;
}

Candidate candidate_for(const LowerRequest& request, const ConvRequest& conv,
                        const CostedSpec& chosen, Layout layout) {
  const Spec& spec = chosen.spec;
  const CudaDevice& device = device_of(request);
  Candidate candidate = conv_candidate(request, "conv_wgmma_" + tile_name(spec.main.tile), layout);
  candidate.alignment = kTmaAlignment;
  candidate.cost = chosen.cost;
  candidate.macs_per_cycle = device.chip().costs().rate_wgmma_s8 * device.chip().multiprocessors;
  set_placed_step(candidate, device,
                  {.make_launch =
                       [conv, spec, &device](const BindArgs& bind) {
                         return make_launch(conv, spec, device.chip(), bind);
                       },
                   .recipes = [conv, spec](const BindArgs&) { return blobs(conv, spec); }},
                  [conv, spec](const BindArgs& bind) {
                    const PixelStrides x = conv.input_strides(bind.inputs[kProductX]);
                    return [conv, spec, x](const StepData& data) {
                      return parameters(conv, spec, x, data);
                    };
                  });
  return candidate;
}

}  // namespace

Offer conv_wgmma_offer(const LowerRequest& request, ConvRequest conv, Layout layout) {
  const CudaDevice& device = device_of(request);
  if (std::string reason = reject(conv, device); !reason.empty()) return Reject{reason};
  conv.t_fits = conv.sums_fit();
  const std::vector<CostedSpec> specs = conv_wgmma::specs_of(conv, device.chip());
  if (specs.empty()) return Reject{"no tile fits the chip"};
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  Candidates candidates;
  for (const CostedSpec& spec : specs) {
    candidates.push_back(candidate_for(request, conv, spec, layout));
    if (!measured) break;  // the cheapest
  }
  return candidates;
}

Offer lower_conv_wgmma(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_conv(request, conv); !reason.empty()) return Reject{reason};
  return conv_wgmma_offer(request, conv, Layout::nhwc);
}

}  // namespace octet::cuda
