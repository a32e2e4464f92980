// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/wgmma_tile.h"

#include <algorithm>

#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kSwizzleAlignment = 1024;

s64 round_up(s64 value, s64 to) { return ceil_div(value, to) * to; }

bool is_pointwise(const ConvRequest& conv) {
  const auto one = [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  };
  return one(conv.h()) && one(conv.w());
}

bool takes_halo(const ConvRequest& conv) {
  const auto plain = [](const WindowAxis& axis) { return axis.stride == 1 && axis.dilation == 1; };
  return plain(conv.h()) && plain(conv.w()) && conv.h().kernel * conv.w().kernel > 1;
}

// The widest swizzle that wastes at most an eighth of k.
s64 bytes_of_k(s64 channels) {
  for (s64 bki : {128, 64}) {
    if (round_up(channels, bki) * 8 <= channels * 9) return bki;
  }
  return 32;
}

struct Form {
  s64 bm_wg, warpgroups;
  bool pingpong;
};
constexpr Form kForms[] = {
    {64, 1, false}, {64, 2, true}, {128, 2, true}, {64, 2, false}, {128, 2, false}};

// Registers that hold sums, and what waits to be added to them.
bool fits_registers(const ConvRequest& conv, const WgmmaTile& tile) {
  constexpr s64 kMost = 128, kMostWithResidual = 96;
  const s64 sums = tile.bm_wg / 64 * tile.bn / 2;
  return sums <= (conv.product.has_residual ? kMostWithResidual : kMost);
}

// How much longer than for wide rows the tensor memory accelerator takes for the windows of rows of so many bytes.
f64 narrowness(s64 row_bytes) {
  if (row_bytes >= 128) return 1;
  return row_bytes >= 64 ? 1.5 : 2.5;
}

// As many stages as the memory and the length of k ask for.
bool set_stages(const ConvRequest& conv, WgmmaTile& tile, const Chip& chip) {
  constexpr s64 kMost = 8, kStageBytes = 16 << 10;
  const s64 stage = tile.bki * (tile.bm() + tile.bn);
  tile.sub =
      tile.mode == XMode::halo ? 1 : std::clamp<s64>(kStageBytes / stage, 1, pieces_of(conv, tile));
  for (tile.stages = kMost; tile.stages >= 2; --tile.stages) {
    if (memory_of(conv, tile).all <= chip.shared_bytes_per_block) return true;
  }
  return false;
}

void add(const ConvRequest& conv, WgmmaTile tile, const Chip& chip, std::vector<WgmmaTile>& all) {
  if (tile.mode == XMode::halo) {
    constexpr s64 kLargestBox = 256;
    tile.wp = conv.w().out + conv.w().kernel - 1;
    tile.th = std::min({tile.bm() / tile.wp, conv.h().out, kLargestBox - conv.h().kernel + 1});
    if (tile.wp > kLargestBox || tile.th < 1) return;
  }
  if (fits_registers(conv, tile) && set_stages(conv, tile, chip)) all.push_back(tile);
}

}  // namespace

std::string WgmmaTile::name() const {
  constexpr std::string_view kModes[] = {"rows", "im2col", "halo"};
  return fmt::format("conv_wgmma_{}x{}{}_{}{}", bm(), bn,
                     pingpong          ? "pp"
                     : warpgroups == 1 ? "w1"
                                       : "co",
                     kModes[static_cast<size_t>(mode)],
                     resident && mode != XMode::halo ? "_res" : "");
}

s64 chunks_of(const ConvRequest& conv, const WgmmaTile& tile) {
  return ceil_div(conv.cin(), tile.bki);
}

s64 pieces_of(const ConvRequest& conv, const WgmmaTile& tile) {
  return conv.geometry.window.kernel_elements() * chunks_of(conv, tile);
}

s64 m_tiles(const ConvRequest& conv, const WgmmaTile& tile) {
  if (tile.mode == XMode::halo) return conv.geometry.batch * ceil_div(conv.h().out, tile.th);
  return ceil_div(conv.pixels(), tile.bm());
}

s64 n_tiles(const ConvRequest& conv, const WgmmaTile& tile) {
  return ceil_div(conv.cout(), tile.bn);
}

WgmmaMemory memory_of(const ConvRequest& conv, const WgmmaTile& tile) {
  constexpr s64 kTableBytes = 256, kBarrierBytes = 8;
  WgmmaMemory memory;
  memory.a_block = tile.bm() * tile.bki;
  if (tile.mode == XMode::halo) {
    const s64 rows = tile.bm() + (conv.h().kernel - 1) * tile.wp + conv.w().kernel - 1;
    memory.a_block = round_up(rows * tile.bki, kSwizzleAlignment);
  }
  memory.weights = tile.stages * tile.sub * memory.a_block;
  const s64 kept = tile.resident ? pieces_of(conv, tile) : tile.stages * tile.sub;
  memory.end = memory.weights + kept * tile.bn * tile.bki;
  memory.end_bytes = n_tiles(conv, tile) * tile.bn * 4;
  memory.table = memory.end + 2 * memory.end_bytes;
  memory.barriers = memory.table + (conv.product.table ? kTableBytes : 0);
  memory.all = memory.barriers + kBarrierBytes * (2 * tile.stages + 1) + kSwizzleAlignment;
  return memory;
}

f64 wgmma_cost(const ConvRequest& conv, const WgmmaTile& tile, const Chip& chip) {
  const f64 bm = static_cast<f64>(tile.bm()), bn = static_cast<f64>(tile.bn);
  const f64 k = static_cast<f64>(pieces_of(conv, tile) * tile.bki);
  TileWork work;
  work.tiles = m_tiles(conv, tile) * n_tiles(conv, tile);
  work.multiply_cycles = bm * bn * k / kWgmmaRate;
  const bool halo = tile.mode == XMode::halo;
  const f64 rows = halo ? static_cast<f64>((tile.th + conv.h().kernel - 1) * tile.wp) : bm;
  const f64 depth = halo ? static_cast<f64>(chunks_of(conv, tile) * tile.bki) : k;
  work.load_bytes = (rows * depth + (tile.resident ? 0.0 : bn * k)) *
                    (tile.mode == XMode::im2col ? narrowness(tile.bki) : 1);
  // Each product of 64 rows reads its rows and its columns from shared memory, whose rate narrow columns reach.
  if (tile.bn < 64) work.multiply_cycles *= 1.9;
  if (tile.bn == 64) work.multiply_cycles *= 1.3;
  // One warpgroup waits for its own loads and stores.
  if (tile.warpgroups == 1) work.multiply_cycles *= 1.6;
  constexpr f64 kTileCycles = 300;  // until a tile's first product, and behind its last
  work.multiply_cycles += kTileCycles;
  work.finish_cycles = bm * bn / kFinishRate;
  work.overlaps = tile.pingpong;
  f64 cost = tile_cost(work, conv_bytes(conv), chip);
  if (tile.resident && !halo) cost -= 200;  // the same bytes, fewer of them asked for
  return cost;
}

std::vector<WgmmaTile> wgmma_tiles(const ConvRequest& conv, const Chip& chip) {
  std::vector<WgmmaTile> all;
  const s64 bki = bytes_of_k(conv.cin());
  const XMode plain = is_pointwise(conv) ? XMode::rows : XMode::im2col;
  for (const Form& form : kForms) {
    for (s64 bn : {32, 64, 128, 256}) {
      if (bn > 32 && bn >= 2 * conv.cout()) continue;
      WgmmaTile tile{.mode = plain,
                     .bm_wg = form.bm_wg,
                     .bn = bn,
                     .bki = bki,
                     .warpgroups = form.warpgroups,
                     .pingpong = form.pingpong};
      add(conv, tile, chip, all);
      tile.resident = true;
      constexpr s64 kMostResident = 100 << 10;
      const bool small = pieces_of(conv, tile) * bn * bki <= kMostResident;
      if (small && n_tiles(conv, tile) <= chip.multiprocessors) add(conv, tile, chip, all);
      tile.mode = XMode::halo;
      if (takes_halo(conv)) add(conv, tile, chip, all);
    }
  }
  std::ranges::stable_sort(all, {},
                           [&](const WgmmaTile& tile) { return wgmma_cost(conv, tile, chip); });
  return all;
}

}  // namespace octet::cuda
