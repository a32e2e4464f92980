// SPDX-License-Identifier: Apache-2.0
// QConv by mma.sync: kernels/conv_mma.cu. Any geometry, on any GPU.
#include <algorithm>

#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

// Tiles of conv_mma.cu.
struct MmaTile {
  s64 warps_m = 4, warps_n = 1;
  s64 tiles_m = 2, tiles_n = 8;
  s64 bk = 64;
  s64 stages = 4;

  s64 bm() const { return 16 * tiles_m * warps_m; }
  s64 bn() const { return 8 * tiles_n * warps_n; }
  int threads() const { return static_cast<int>(32 * warps_m * warps_n); }
  s64 stage_bytes() const { return (bm() + bn()) * bk; }
};

// Columns as the channels need them; rows so that the chip's multiprocessors all have a block.
MmaTile choose_tile(const ConvRequest& conv, const Chip& chip) {
  MmaTile tile;
  const s64 cout = conv.cout();
  tile.tiles_n = cout <= 16 ? 2 : cout <= 32 ? 4 : 8;
  tile.warps_n = cout > 64 ? 2 : 1;
  const s64 columns = ceil_div(cout, tile.bn()) * conv.geometry.groups;
  const auto blocks = [&] { return ceil_div(conv.pixels(), tile.bm()) * columns; };
  if (blocks() < 2 * chip.multiprocessors) tile.tiles_m = 1;
  if (blocks() < chip.multiprocessors) tile.warps_m = 2;
  if (blocks() < chip.multiprocessors && tile.warps_n == 2) tile.warps_n = 1;
  return tile;
}

// Row p of a warp's weights is this channel of its 8 * tiles_n: so a thread's accumulators are neighbouring channels.
s64 channel_of_row(const MmaTile& tile, s64 p) {
  const s64 width = 8 * tile.tiles_n, in_warp = p % width;
  const s64 j = in_warp / 8, q = in_warp % 8 / 2, e = in_warp % 2;
  return p - in_warp + 2 * tile.tiles_n * q + 2 * j + e;
}

// [group][column tile][k tile][row][byte of k]; k goes over taps, then channels.
std::vector<std::byte> packed(const ConvRequest& conv, const MmaTile& tile) {
  const s64 cout = conv.cout(), k_all = conv.k();
  const s64 k_tiles = ceil_div(k_all, tile.bk), n_tiles = ceil_div(cout, tile.bn());
  std::vector<std::byte> bytes(
      static_cast<size_t>(conv.geometry.groups * n_tiles * k_tiles * tile.bn() * tile.bk));
  for (s64 row = 0; row < conv.geometry.groups * n_tiles * tile.bn(); ++row) {
    const s64 column_tile = row / tile.bn(), in_tile = row % tile.bn();
    const s64 group = column_tile / n_tiles;
    const s64 c = column_tile % n_tiles * tile.bn() + channel_of_row(tile, in_tile);
    if (c >= cout) continue;
    for (s64 k = 0; k < k_all; ++k) {
      const s64 to = ((column_tile * k_tiles + k / tile.bk) * tile.bn() + in_tile) * tile.bk;
      bytes[static_cast<size_t>(to + k % tile.bk)] =
          static_cast<std::byte>(conv.weight(group * cout + c, k));
    }
  }
  return bytes;
}

void set_tile(KernelSource& source, const MmaTile& tile) {
  source.set("WARPS_M", tile.warps_m), source.set("WARPS_N", tile.warps_n);
  source.set("TILES_M", tile.tiles_m), source.set("TILES_N", tile.tiles_n);
  source.set("BK", tile.bk), source.set("STAGES", tile.stages);
}

Launch make_launch(const ConvRequest& conv, const MmaTile& tile, const BindArgs& bind) {
  constexpr s64 kTableBytes = 256, kWidest = 16;
  Launch launch{.source = {"conv_mma", {}}, .shape = {}};
  set_window(launch.source, conv);
  set_epilogue(launch.source, conv.product);
  set_tile(launch.source, tile);
  set_operands(launch.source, conv, bind);
  launch.source.set("VEC", input_access(conv, bind, kWidest));
  launch.source.set("OUT_VEC", output_access(conv, bind, std::min(kWidest, 2 * tile.tiles_n)));
  launch.shape = {
      .blocks = ceil_div(conv.pixels(), tile.bm()) * ceil_div(conv.cout(), tile.bn()) *
                conv.geometry.groups,
      .threads = tile.threads(),
      .shared_bytes = tile.stages * tile.stage_bytes() + (conv.product.table ? kTableBytes : 0),
      .programmatic_dependent = true};
  return launch;
}

BlobRecipe packing(const ConvRequest& conv, const MmaTile& tile) {
  return {
      fmt::format("conv_mma {}x{}x{} {}", tile.bn(), tile.tiles_n, tile.bk, conv.geometry.groups),
      {conv.weights},
      [conv, tile] { return packed(conv, tile); }};
}

constexpr f64 kMmaFinishRate = 4.5;  // outputs of a multiprocessor in a cycle

f64 cost(const ConvRequest& conv, const MmaTile& tile, const Chip& chip) {
  TileWork work;
  work.tiles =
      ceil_div(conv.pixels(), tile.bm()) * ceil_div(conv.cout(), tile.bn()) * conv.geometry.groups;
  const f64 k = static_cast<f64>(ceil_div(conv.k(), tile.bk) * tile.bk);
  const f64 bm = static_cast<f64>(tile.bm()), bn = static_cast<f64>(tile.bn());
  work.multiply_cycles = bm * bn * k / kMmaRate;
  // Several blocks hide what each of them waits for.
  if (work.tiles <= chip.multiprocessors) work.multiply_cycles += kTileCycles;
  work.load_bytes = (bm + bn) * k;
  // Few bytes at a time take as many instructions; what fills k up is not loaded.
  work.load_cycles =
      bm * static_cast<f64>(conv.k()) / static_cast<f64>(common_power(16, {conv.cin()}));
  work.finish_cycles = bm * bn / kMmaFinishRate;
  return tile_cost(work, conv_bytes(conv), chip);
}

}  // namespace

Candidate conv_mma_candidate(const LowerRequest& request, const ConvRequest& conv, Layout layout) {
  const CudaDevice& device = device_of(request);
  const MmaTile tile = choose_tile(conv, device.chip());
  Candidate candidate =
      conv_candidate(request, fmt::format("conv_mma_{}x{}", tile.bm(), tile.bn()), layout);
  candidate.cost = cost(conv, tile, device.chip());
  candidate.macs_per_cycle = kMmaRate * device.chip().multiprocessors;
  set_step(
      candidate, device,
      {.make_launch = [conv, tile](const BindArgs& bind) { return make_launch(conv, tile, bind); },
       .recipes = [conv, tile](const BindArgs&) { return conv_blobs(conv, packing(conv, tile)); }},
      [product = conv.product](const StepData& data) {
        return params::ConvParams{data.input(kProductX), data.blob<s8>(0),
                                  epilogue_params(product, data, 1)};
      });
  return candidate;
}

Offer lower_conv_mma(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_conv(request, conv); !reason.empty()) return Reject{reason};
  return conv_mma_candidate(request, conv, Layout::nhwc);
}

}  // namespace octet::cuda
