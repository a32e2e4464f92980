// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/wgmma_tile.h"

#include <algorithm>

#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kSwizzleAlignment = 1024;

s64 round_up(s64 value, s64 to) { return ceil_div(value, to) * to; }

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

constexpr s64 kColumns[] = {32, 64, 128, 192, 256};

// Registers that hold sums, and what waits to be added to them. Of two blocks that share a multiprocessor, each thread has 80: not enough for
// 64 sums, an operand and the edges that a pixel may lie on.
bool fits_registers(const ConvRequest& conv, const WgmmaTile& tile) {
  constexpr s64 kMost = 128, kMostWithOperand = 96, kMostOfTwo = 64, kMostOfTwoWithBoth = 32;
  const s64 sums = tile.bm_wg / 64 * tile.bn / 2;
  const bool operand = conv.product.has_residual || conv.product.has_addend;
  if (tile.blocks > 1)
    return sums <= (operand && needs_edges(conv) ? kMostOfTwoWithBoth : kMostOfTwo);
  return sums <= (operand ? kMostWithOperand : kMost);
}

// How much longer than for wide rows the tensor memory accelerator takes for the windows of rows of so many bytes. Two blocks wait for
// theirs at the same time.
f64 narrowness(s64 row_bytes, s64 blocks) {
  constexpr f64 kOfTwo = 0.88;
  if (row_bytes >= 128) return 1;
  const f64 more = row_bytes >= 64 ? 3.2 : 13.3;
  return 1 + more * (blocks > 1 ? kOfTwo : 1.0);
}

// As many stages as the memory and the length of k ask for.
bool set_stages(const ConvRequest& conv, WgmmaTile& tile, const Chip& chip) {
  constexpr s64 kMost = 8, kStageBytes = 16 << 10;
  const s64 most = chip.shared_bytes / tile.blocks - chip.reserved_shared_bytes;
  const s64 stage = tile.bki * (tile.bm() + tile.bn);
  tile.sub =
      tile.mode == XMode::halo ? 1 : std::clamp<s64>(kStageBytes / stage, 1, pieces_of(conv, tile));
  for (tile.stages = kMost; tile.stages >= 2; --tile.stages) {
    if (memory_of(conv, tile).all <= most) return true;
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
  if (conv.part_count() > 1 && conv.columns() % tile.bn != 0) return;
  if (fits_registers(conv, tile) && set_stages(conv, tile, chip)) all.push_back(tile);
}

// Of each way to bring x and weights.
void add_modes(const ConvRequest& conv, WgmmaTile tile, const Chip& chip,
               std::vector<WgmmaTile>& all) {
  tile.mode = conv.pointwise() ? XMode::rows : XMode::im2col;
  add(conv, tile, chip, all);
  tile.resident = true;
  constexpr s64 kMostResident = 100 << 10;
  const bool small = pieces_of(conv, tile) * tile.bn * tile.bki <= kMostResident;
  if (small && n_tiles(conv, tile) <= chip.multiprocessors) add(conv, tile, chip, all);
  tile.mode = XMode::halo;
  if (takes_halo(conv)) add(conv, tile, chip, all);
}

}  // namespace

std::string WgmmaTile::name() const {
  constexpr std::string_view kModes[] = {"rows", "im2col", "halo"};
  return fmt::format("conv_wgmma_{}x{}{}_{}{}{}", bm(), bn,
                     pingpong          ? "pp"
                     : warpgroups == 1 ? "w1"
                                       : "co",
                     kModes[static_cast<size_t>(mode)],
                     resident && mode != XMode::halo ? "_res" : "", blocks > 1 ? "_x2" : "");
}

Edge::Edge(const WindowAxis& axis) {
  if (axis.pad_begin == 0 && axis.pad_end == 0) return;
  for (s64 o = 0; o < axis.out; ++o) {
    const TapRange taps = taps_inside(axis, o);
    if (taps.first == 0 && taps.last == axis.kernel) continue;
    (o < axis.out / 2 ? first : last) += 1;
  }
}

bool needs_edges(const ConvRequest& conv) {
  const Edge h(conv.h()), w(conv.w());
  return conv.product.epilogue.zero_point(kProductX) != 0 && h.classes() * w.classes() > 1;
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
  constexpr s64 kTableBytes = 128 * 256, kBarrierBytes = 8;
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

// The constants are a fit to 480 tiles of 90 convolutions on an H200: what it chooses takes 1.7 % longer than the fastest of them.
f64 wgmma_cost(const ConvRequest& conv, const WgmmaTile& tile, const Chip& chip) {
  constexpr f64 kFinishRate = 5;  // outputs of a warpgroup in a cycle
  constexpr f64 kResidualCycles = 190, kSecondBlockCycles = 1500;
  const f64 bm = static_cast<f64>(tile.bm()), bn = static_cast<f64>(tile.bn);
  const f64 k = static_cast<f64>(pieces_of(conv, tile) * tile.bki);
  TileWork work;
  work.tiles = m_tiles(conv, tile) * n_tiles(conv, tile);
  work.at_once = tile.blocks;
  work.overlaps = tile.pingpong;
  const bool halo = tile.mode == XMode::halo;
  const f64 rows = halo ? static_cast<f64>((tile.th + conv.h().kernel - 1) * tile.wp) : bm;
  const f64 depth = halo ? static_cast<f64>(chunks_of(conv, tile) * tile.bki) : k;
  work.load_bytes = (rows * depth + (tile.resident ? 0.0 : bn * k)) *
                    (tile.mode == XMode::im2col ? narrowness(tile.bki, tile.blocks) : 1);
  work.multiply_cycles = bm * bn * k / kWgmmaRate;
  // Each product of 64 rows reads its rows and its columns from shared memory, whose rate narrow columns reach.
  if (tile.bn <= 64) work.multiply_cycles *= tile.bn < 64 ? 1.9 : 1.15;
  // One warpgroup waits for its own loads and stores.
  if (tile.warpgroups == 1) work.multiply_cycles *= 1.6;
  work.multiply_cycles += kTileCycles;
  work.finish_cycles = static_cast<f64>(tile.bm_wg) * bn / kFinishRate;
  if (conv.product.has_residual && tile.blocks == 1) work.finish_cycles += kResidualCycles;
  f64 cost = tile_cost(work, conv_bytes(conv), chip);
  if (tile.resident && !halo) cost -= 200;  // the same bytes, fewer of them asked for
  return tile.blocks > 1 ? cost + kSecondBlockCycles : cost;
}

std::vector<WgmmaTile> wgmma_tiles(const ConvRequest& conv, const Chip& chip) {
  std::vector<WgmmaTile> all;
  WgmmaTile tile{.bki = bytes_of_k(conv.cin())};
  for (const Form& form : kForms) {
    tile.bm_wg = form.bm_wg, tile.warpgroups = form.warpgroups, tile.pingpong = form.pingpong;
    for (const s64 bn : kColumns) {
      tile.bn = bn;
      if (tile.bn > 32 && tile.bn >= 2 * conv.cout()) continue;
      for (tile.blocks = 1; tile.blocks <= 2; ++tile.blocks) add_modes(conv, tile, chip, all);
    }
  }
  std::ranges::stable_sort(all, {},
                           [&](const WgmmaTile& each) { return wgmma_cost(conv, each, chip); });
  return all;
}

}  // namespace octet::cuda
