// SPDX-License-Identifier: Apache-2.0
// QConv by warpgroups of Hopper: kernels/conv_wgmma.cu.
#include <algorithm>

#include "backends/cuda/lower/conv_request.h"
#include "backends/cuda/lower/tensor_map.h"
#include "backends/cuda/lower/wgmma_tile.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kTmaAlignment = 16;  // of addresses and strides, in bytes

s64 padded_channels(const ConvRequest& conv, const WgmmaTile& tile) {
  return n_tiles(conv, tile) * tile.bn;
}

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

// Rows of k: for each tap the channels, filled up to whole chunks. Row p of a group is the channel that the kernel's head names.
std::vector<std::byte> packed(const ConvRequest& conv, const WgmmaTile& tile) {
  const s64 chunk_bytes = chunks_of(conv, tile) * tile.bki;
  const s64 k = conv.geometry.window.kernel_elements() * chunk_bytes;
  const s64 group = std::min<s64>(tile.bn, 64), own = group / 4;
  std::vector<std::byte> bytes(static_cast<size_t>(padded_channels(conv, tile) * k));
  for (s64 row = 0; row < padded_channels(conv, tile); ++row) {
    const s64 p = row % group, c = row - p + own * (p % 8 / 2) + 2 * (p / 8) + p % 2;
    if (c >= conv.cout()) continue;
    conv.for_each_weight(c, [&](s64 tap, s64 i, s8 weight) {
      bytes[static_cast<size_t>(row * k + tap * chunk_bytes + i)] = static_cast<std::byte>(weight);
    });
  }
  return bytes;
}

void set_tile(KernelSource& source, const ConvRequest& conv, const WgmmaTile& tile) {
  const WgmmaMemory memory = memory_of(conv, tile);
  source.set("X_MODE", static_cast<s64>(tile.mode));
  source.set("CHUNKS", chunks_of(conv, tile));
  source.set("TH", tile.th), source.set("WP", tile.wp);
  source.set("TILES_H", tile.th > 0 ? ceil_div(conv.h().out, tile.th) : 1);
  source.set("A_BYTES", memory.a_block);
  source.set("BM_WG", tile.bm_wg), source.set("BN", tile.bn), source.set("BKI", tile.bki);
  source.set("SUB", tile.sub), source.set("STAGES", tile.stages);
  source.set("NWG", tile.warpgroups), source.set("PINGPONG", s64{tile.pingpong});
  source.set("RESIDENT", s64{tile.resident}), source.set("MIN_BLOCKS", tile.blocks);
  source.set("OFF_B", memory.weights), source.set("OFF_END", memory.end);
  source.set("N_TILES_BYTES", memory.end_bytes);
  source.set("OFF_TABLE", memory.table), source.set("OFF_BARRIERS", memory.barriers);
}

void set_parts(KernelSource& source, const ConvRequest& conv) {
  std::string zero_point = "ZP_Y";
  if (conv.parts.size() > 1) {
    zero_point = fmt::format("{}", conv.parts.back().zero_point);
    for (size_t i = conv.parts.size() - 1; i-- > 0;)
      zero_point =
          fmt::format("(part < {} ? {} : {})", i + 1, conv.parts[i].zero_point, zero_point);
  }
  source.set("PARTS", conv.part_count());
  source.set("PART_BYTES", conv.pixels() * conv.columns());
  source.set("ZP_OF_PART", zero_point);
}

void set_edges(KernelSource& source, const ConvRequest& conv, const WgmmaTile& tile) {
  const Edge h(conv.h()), w(conv.w());
  source.set("EDGES", s64{needs_edges(conv)});
  source.set("TOP", h.first), source.set("BOTTOM", h.last);
  source.set("LEFT", w.first), source.set("RIGHT", w.last);
  source.set("COUT_PADDED", padded_channels(conv, tile));
}

Launch make_launch(const ConvRequest& conv, const WgmmaTile& tile, const Chip& chip,
                   const BindArgs& bind) {
  constexpr s64 kWidest = 16, kNarrow = 8;
  Launch launch{.source = {"conv_wgmma", {}}, .shape = {}};
  set_window(launch.source, conv);
  set_epilogue(launch.source, conv.product);
  launch.source.set("T_FITS", s64{conv.t_fits}), launch.source.set("TABLE_LANES", s64{1});
  set_tile(launch.source, conv, tile);
  set_edges(launch.source, conv, tile);
  set_parts(launch.source, conv);
  set_operands(launch.source, conv, bind);
  launch.source.set("OUT_VEC", output_access(conv, bind, tile.bn < 64 ? kNarrow : kWidest));
  const s64 columns = n_tiles(conv, tile), tiles = m_tiles(conv, tile) * columns;
  s64 blocks = std::min<s64>(tiles, chip.multiprocessors * tile.blocks);
  // Weights that stay are those of one column tile.
  if (tile.resident) blocks = std::max(columns, blocks / columns * columns);
  constexpr s64 kTilesOfLoop = 2;
  launch.source.set("ROLLED", s64{tiles <= kTilesOfLoop * blocks});
  constexpr int kWarpgroup = 128, kLoader = 32;
  launch.shape = {.blocks = blocks,
                  .threads = kWarpgroup * static_cast<int>(tile.warpgroups) + kLoader,
                  .shared_bytes = memory_of(conv, tile).all,
                  .programmatic_dependent = true};
  return launch;
}

// All of an axis that the sums depend on.
std::string edge_key(const WindowAxis& axis) {
  return fmt::format("{}>{} by {}, {} apart, {} dilated, {} padded", axis.in, axis.out, axis.kernel,
                     axis.stride, axis.dilation, axis.pad_begin);
}

std::vector<BlobRecipe> blobs(const ConvRequest& conv, const WgmmaTile& tile) {
  std::vector<BlobRecipe> all =
      conv_blobs(conv, {fmt::format("conv_wgmma {}x{} {}", tile.bn, tile.bki, conv.strides.channel),
                        conv.sources.empty() ? std::vector{conv.weights} : conv.sources,
                        [conv, tile] { return packed(conv, tile); }});
  if (needs_edges(conv)) {
    const s64 channels = padded_channels(conv, tile);
    const s32 zero_point = conv.product.epilogue.zero_point(kProductX);
    all.push_back({fmt::format("edges {} of {} {} {} {}", channels, conv.strides.channel,
                               zero_point, edge_key(conv.h()), edge_key(conv.w())),
                   conv.sources.empty() ? std::vector{conv.weights} : conv.sources,
                   [conv, channels] { return bytes_of<s32>(edge_sums(conv, channels)); }});
  }
  return all;
}

TensorMap x_map(const ConvRequest& conv, const WgmmaTile& tile, const PixelStrides& x,
                        const StepData& data) {
  const CudaDevice& device = cuda_queue(data.args).device();
  const u8* const at = data.input(kProductX);
  if (tile.mode == XMode::rows)
    return rows_map(device, {conv.cin(), conv.pixels(), x.pixel, tile.bki, tile.bm()}, at);
  const ImageMap image{{conv.cin(), conv.w().in, conv.h().in, conv.geometry.batch},
                       {x.pixel, x.row, x.image},
                       tile.bki};
  if (tile.mode == XMode::halo)
    return tile_map(device, image, tile.wp, tile.th + conv.h().kernel - 1, at);
  const auto upper = [](const WindowAxis& axis) {
    // The last window begins here, counted from the last pixel of x.
    return (axis.out - 1) * axis.stride - axis.pad_begin - (axis.in - 1);
  };
  return im2col_map(device, image,
                    {{-conv.w().pad_begin, -conv.h().pad_begin},
                     {upper(conv.w()), upper(conv.h())},
                     {conv.w().stride, conv.h().stride},
                     tile.bm()},
                    at);
}

std::string reject(const ConvRequest& conv, const CudaDevice& device) {
  if (std::string reason = device.chip().reject_unless_hopper(); !reason.empty()) return reason;
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

params::WgmmaParams parameters(const ConvRequest& conv, const WgmmaTile& tile,
                               const PixelStrides& x, const StepData& data) {
  const s64 k = pieces_of(conv, tile) * tile.bki;
  params::WgmmaParams p{};
  p.x = x_map(conv, tile, x, data);
  p.weights = rows_map(cuda_queue(data.args).device(),
                       {k, padded_channels(conv, tile), k, tile.bki, tile.bn}, data.blob<u8>(0));
  p.border = needs_edges(conv) ? data.blob<s32>(data.blobs.size() - 1) : nullptr;
  p.end = epilogue_params(conv.product, data, 1);
  return p;
}

Candidate candidate_for(const LowerRequest& request, const ConvRequest& conv, const WgmmaTile& tile,
                        Layout layout) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = conv_candidate(request, tile.name(), layout);
  candidate.alignment = kTmaAlignment;
  candidate.cost = wgmma_cost(conv, tile, device.chip());
  candidate.macs_per_cycle = kWgmmaRate * device.chip().multiprocessors;
  set_placed_step(candidate, device,
                  {.make_launch =
                       [conv, tile, &device](const BindArgs& bind) {
                         return make_launch(conv, tile, device.chip(), bind);
                       },
                   .recipes = [conv, tile](const BindArgs&) { return blobs(conv, tile); }},
                  [conv, tile](const BindArgs& bind) {
                    const PixelStrides x = conv.input_strides(bind.inputs[kProductX]);
                    return [conv, tile, x](const StepData& data) {
                      return parameters(conv, tile, x, data);
                    };
                  });
  return candidate;
}

}  // namespace

Offer conv_wgmma_offer(const LowerRequest& request, ConvRequest conv, Layout layout) {
  const CudaDevice& device = device_of(request);
  if (std::string reason = reject(conv, device); !reason.empty()) return Reject{reason};
  conv.t_fits = conv.sums_fit();
  const std::vector<WgmmaTile> tiles = wgmma_tiles(conv, device.chip());
  if (tiles.empty()) return Reject{"no tile fits the chip"};
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  Candidates candidates;
  for (const WgmmaTile& tile : tiles) {
    candidates.push_back(candidate_for(request, conv, tile, layout));
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
