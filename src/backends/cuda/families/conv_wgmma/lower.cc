// SPDX-License-Identifier: Apache-2.0
// QConv by warpgroups of a Hopper.
#include <algorithm>

#include "backends/cuda/families/conv_wgmma/tile.h"
#include "backends/cuda/lower/conv_request.h"
#include "backends/cuda/lower/tensor_map.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

using conv_wgmma::Edge;
using conv_wgmma::Spec;
using conv_wgmma::XMode;

constexpr s64 kTmaAlignment = 16;  // of addresses and strides, in bytes

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
  const s64 chunk_bytes = s64{chunks(spec)} * spec.tile.k_bytes, k = taps(spec) * chunk_bytes;
  const s32 rows = padded_channels(spec), group = columns_of_group(spec.tile);
  std::vector<std::byte> bytes(static_cast<size_t>(rows * k));
  for (s32 row = 0; row < rows; ++row) {
    const s32 c = row - row % group + channel_of_row(row % group, spec.tile);
    if (c >= conv.cout()) continue;
    conv.for_each_weight(c, [&](s64 tap, s64 i, s8 weight) {
      bytes[static_cast<size_t>(row * k + tap * chunk_bytes + i)] = static_cast<std::byte>(weight);
    });
  }
  return bytes;
}

Launch make_launch(const ConvRequest& conv, Spec spec, const Chip& chip, const BindArgs& bind) {
  spec.at = conv_operands(conv, bind);
  spec.y_access = field_of(output_access(conv, bind, own_channels(spec.tile)));
  const s64 columns = n_tiles(spec), all = tiles(spec);
  s64 blocks = std::min<s64>(all, chip.multiprocessors * spec.tile.blocks);
  // Weights that stay are those of one column tile.
  if (spec.tile.resident) blocks = std::max(columns, blocks / columns * columns);
  constexpr s64 kTilesOfLoop = 2;
  spec.rolled = all <= kTilesOfLoop * blocks;
  return {.source = source_of("conv_wgmma", spec),
          .shape = {.blocks = blocks,
                    .threads = threads(spec),
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
      conv,
      {fmt::format("conv_wgmma {}x{} {}", spec.tile.bn, spec.tile.k_bytes, conv.strides.channel),
       conv.sources.empty() ? std::vector{conv.weights} : conv.sources,
       [conv, spec] { return packed(conv, spec); }});
  if (spec.edges.exist) {
    const s64 channels = padded_channels(spec);
    all.push_back({fmt::format("edges {} of {} {} {} {}", channels, conv.strides.channel,
                               spec.window.zero_point, edge_key(conv.h()), edge_key(conv.w())),
                   conv.sources.empty() ? std::vector{conv.weights} : conv.sources,
                   [conv, channels] { return bytes_of<s32>(edge_sums(conv, channels)); }});
  }
  return all;
}

TensorMap x_map(const ConvRequest& conv, const Spec& spec, const PixelStrides& x,
                const StepData& data) {
  const conv_wgmma::Tile& tile = spec.tile;
  const CudaDevice& device = cuda_queue(data.args).device();
  const u8* const at = data.input(kProductX);
  if (tile.mode == XMode::rows)
    return rows_map(device, {conv.cin(), conv.pixels(), x.pixel, tile.k_bytes, bm(tile)}, at);
  const ImageMap image{{conv.cin(), conv.w().in, conv.h().in, conv.geometry.batch},
                       {x.pixel, x.row, x.image},
                       tile.k_bytes};
  if (tile.mode == XMode::halo)
    return tile_map(device, image, tile.halo_width, tile.halo_rows + conv.h().kernel - 1, at);
  const auto upper = [](const WindowAxis& axis) {
    // The last window begins here, counted from the last pixel of x.
    return (axis.out - 1) * axis.stride - axis.pad_begin - (axis.in - 1);
  };
  return im2col_map(device, image,
                    {{-conv.w().pad_begin, -conv.h().pad_begin},
                     {upper(conv.w()), upper(conv.h())},
                     {conv.w().stride, conv.h().stride},
                     bm(tile)},
                    at);
}

std::string reject(const ConvRequest& conv, const CudaDevice& device) {
  if (std::string reason = device.chip().reject_without({Instruction::wgmma, Instruction::tma});
      !reason.empty())
    return reason;
  if (conv.geometry.groups != 1) return "it has groups";
  if (conv.cin() % kTmaAlignment != 0) return "input channels are not a multiple of 16";
  constexpr s64 kLargestCorner = 127, kLargestStride = 8;
  for (const WindowAxis& axis : {conv.h(), conv.w()}) {
    if (axis.extent() > kLargestCorner || axis.pad_begin > kLargestCorner ||
        axis.stride > kLargestStride)
      return "the window is large";
    if (axis.out < 1 || Edge(axis).first + Edge(axis).last > axis.out) return "the image is small";
  }
  return {};
}

conv_wgmma::Params parameters(const ConvRequest& conv, const Spec& spec, const PixelStrides& x,
                              const StepData& data) {
  const s64 k = s64{pieces(spec)} * spec.tile.k_bytes;
  conv_wgmma::Params p{};
  p.x = x_map(conv, spec, x, data);
  p.weights =
      rows_map(cuda_queue(data.args).device(),
               {k, padded_channels(spec), k, spec.tile.k_bytes, spec.tile.bn}, data.blob<u8>(0));
  p.border = spec.edges.exist ? data.blob<s32>(data.blobs.size() - 1) : nullptr;
  p.end = epilogue_params(conv.product, data, 1);
  return p;
}

Candidate candidate_for(const LowerRequest& request, const ConvRequest& conv, const Spec& spec,
                        Layout layout) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = conv_candidate(request, name_of(spec.tile), layout);
  candidate.alignment = kTmaAlignment;
  candidate.cost = cost_of(conv, spec, device.chip());
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
  const std::vector<Spec> specs = conv_wgmma::specs_of(conv, device.chip());
  if (specs.empty()) return Reject{"no tile fits the chip"};
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  Candidates candidates;
  for (const Spec& spec : specs) {
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
