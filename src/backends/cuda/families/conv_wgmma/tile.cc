// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/conv_wgmma/tile.h"

#include <algorithm>

#include "core/divide.h"

namespace octet::cuda::conv_wgmma {
namespace {

s64 round_up(s64 value, s64 to) { return ceil_div(value, to) * to; }

bool takes_halo(const ConvRequest& conv) {
  const auto plain = [](const WindowAxis& axis) { return axis.stride == 1 && axis.dilation == 1; };
  return plain(conv.h()) && plain(conv.w()) && conv.h().kernel * conv.w().kernel > 1;
}

// The widest swizzle that wastes at most an eighth of k.
s32 bytes_of_k(s64 channels) {
  for (s32 bytes : {128, 64}) {
    if (round_up(channels, bytes) * 8 <= channels * 9) return bytes;
  }
  return 32;
}

struct Form {
  s32 bm_wg, warpgroups;
  bool pingpong;
};
constexpr Form kForms[] = {
    {64, 1, false}, {64, 2, true}, {128, 2, true}, {64, 2, false}, {128, 2, false}};

constexpr s32 kColumns[] = {32, 64, 128, 192, 256};

// Registers that hold sums, and what waits to be added to them. Of two blocks that share a multiprocessor, each thread has 80: not enough for
// 64 sums, an operand and the edges that a pixel may lie on.
bool fits_registers(const ConvRequest& conv, const Spec& spec) {
  constexpr s32 kMost = 128, kMostWithOperand = 96, kMostOfTwo = 64, kMostOfTwoWithBoth = 32;
  const s32 sums = spec.tile.bm_wg / 64 * spec.tile.bn / 2;
  const bool operand = conv.product.has_residual || conv.product.has_addend;
  if (spec.tile.blocks > 1)
    return sums <= (operand && spec.edges.exist ? kMostOfTwoWithBoth : kMostOfTwo);
  return sums <= (operand ? kMostWithOperand : kMost);
}

// How much longer than for wide rows the tensor memory accelerator takes for the windows of rows of so many bytes. Two blocks wait for
// theirs at the same time.
f64 narrowness(s64 row_bytes, s64 blocks, const Costs& costs) {
  if (row_bytes >= 128) return 1;
  const f64 more = row_bytes >= 64 ? costs.conv_wgmma_narrow_64 : costs.conv_wgmma_narrow_32;
  return 1 + more * (blocks > 1 ? costs.conv_wgmma_narrow_of_two : 1.0);
}

// As many stages as the memory and the length of k ask for.
bool set_stages(Spec& spec, const Chip& chip) {
  constexpr s32 kMost = 8, kStageBytes = 16 << 10;
  Tile& tile = spec.tile;
  const s64 most = chip.shared_bytes / tile.blocks - chip.reserved_shared_bytes;
  const s32 stage = tile.k_bytes * (bm(tile) + tile.bn);
  tile.sub = tile.mode == XMode::halo ? 1 : std::clamp(kStageBytes / stage, 1, pieces(spec));
  for (tile.stages = kMost; tile.stages >= 2; --tile.stages) {
    if (memory(spec).all <= most) return true;
  }
  return false;
}

void add(const ConvRequest& conv, Spec spec, const Chip& chip, std::vector<Spec>& all) {
  Tile& tile = spec.tile;
  if (tile.mode == XMode::halo) {
    constexpr s64 kLargestBox = 256;
    const s64 width = conv.w().out + conv.w().kernel - 1;
    if (width > kLargestBox) return;
    tile.halo_width = static_cast<s32>(width);
    tile.halo_rows = static_cast<s32>(
        std::min({bm(tile) / width, conv.h().out, kLargestBox - conv.h().kernel + 1}));
    if (tile.halo_rows < 1) return;
  }
  if (conv.part_count() > 1 && conv.columns() % tile.bn != 0) return;
  if (fits_registers(conv, spec) && set_stages(spec, chip)) all.push_back(spec);
}

// Of each way to bring x and weights.
void add_modes(const ConvRequest& conv, Spec spec, const Chip& chip, std::vector<Spec>& all) {
  spec.tile.mode = conv.pointwise() ? XMode::rows : XMode::im2col;
  add(conv, spec, chip, all);
  spec.tile.resident = true;
  constexpr s64 kMostResident = 100 << 10;
  const bool small = s64{pieces(spec)} * weights_block(spec) <= kMostResident;
  if (small && n_tiles(spec) <= chip.multiprocessors) add(conv, spec, chip, all);
  spec.tile.mode = XMode::halo;
  if (takes_halo(conv)) add(conv, spec, chip, all);
}

Edges edges_of(const ConvRequest& conv) {
  const Edge h(conv.h()), w(conv.w());
  return {
      .exist = conv.product.epilogue.zero_point(kProductX) != 0 && h.classes() * w.classes() > 1,
      .top = field_of(h.first),
      .bottom = field_of(h.last),
      .left = field_of(w.first),
      .right = field_of(w.last)};
}

Parts parts_of(const ConvRequest& conv) {
  const auto zero_point = [&](size_t i) {
    return i < conv.parts.size() ? conv.parts[i].zero_point : 0;
  };
  return {.count = field_of(conv.part_count()),
          .bytes = conv.pixels() * conv.columns(),
          .zero_point0 = zero_point(0),
          .zero_point1 = zero_point(1),
          .zero_point2 = zero_point(2)};
}

Spec without_tile(const ConvRequest& conv) {
  EpilogueSpec end = epilogue_spec(conv.product);
  end.t_fits = conv.t_fits, end.table_lanes = true;
  return {.window = conv_window(conv),
          .at = {},
          .end = end,
          .tile = {},
          .edges = edges_of(conv),
          .parts = parts_of(conv),
          .y_access = 1,
          .rolled = false};
}

}  // namespace

std::string name_of(const Tile& tile) {
  constexpr std::string_view kModes[] = {"rows", "im2col", "halo"};
  return fmt::format("conv_wgmma_{}x{}{}_{}{}{}", bm(tile), tile.bn,
                     tile.pingpong          ? "pp"
                     : tile.warpgroups == 1 ? "w1"
                                            : "co",
                     kModes[static_cast<size_t>(tile.mode)],
                     tile.resident && tile.mode != XMode::halo ? "_res" : "",
                     tile.blocks > 1 ? "_x2" : "");
}

Edge::Edge(const WindowAxis& axis) {
  if (axis.pad_begin == 0 && axis.pad_end == 0) return;
  for (s64 o = 0; o < axis.out; ++o) {
    const TapRange taps = taps_inside(axis, o);
    if (taps.first == 0 && taps.last == axis.kernel) continue;
    (o < axis.out / 2 ? first : last) += 1;
  }
}

// The terms are a fit to 480 tiles of 90 convolutions: what it chooses takes 1.7 % longer than the fastest of them.
f64 cost_of(const ConvRequest& conv, const Spec& spec, const Chip& chip) {
  const Costs& costs = chip.costs();
  const Tile& tile = spec.tile;
  const f64 rows = bm(tile), bn = tile.bn;
  const f64 k = static_cast<f64>(pieces(spec)) * tile.k_bytes;
  TileWork work;
  work.tiles = tiles(spec);
  work.at_once = tile.blocks;
  work.overlaps = tile.pingpong;
  const bool halo = tile.mode == XMode::halo;
  const f64 loaded_rows =
      halo ? static_cast<f64>((tile.halo_rows + spec.window.taps_h - 1) * tile.halo_width) : rows;
  const f64 depth = halo ? static_cast<f64>(chunks(spec)) * tile.k_bytes : k;
  work.load_bytes = (loaded_rows * depth + (tile.resident ? 0.0 : bn * k)) *
                    (tile.mode == XMode::im2col ? narrowness(tile.k_bytes, tile.blocks, costs) : 1);
  work.multiply_cycles = rows * bn * k / costs.rate_wgmma_s8;
  // Each product of 64 rows reads its rows and its columns from shared memory, whose rate narrow columns reach.
  if (tile.bn <= 64)
    work.multiply_cycles *=
        tile.bn < 64 ? costs.conv_wgmma_columns_32 : costs.conv_wgmma_columns_64;
  // One warpgroup waits for its own loads and stores.
  if (tile.warpgroups == 1) work.multiply_cycles *= costs.conv_wgmma_one_warpgroup;
  work.multiply_cycles += costs.tile_begin;
  work.finish_cycles = static_cast<f64>(tile.bm_wg) * bn / costs.conv_wgmma_finish_rate;
  if (conv.product.has_residual && tile.blocks == 1)
    work.finish_cycles += costs.conv_wgmma_residual;
  f64 cost = tile_cost(work, conv_bytes(conv), chip);
  // The same bytes, fewer of them asked for.
  if (tile.resident && !halo) cost -= costs.conv_wgmma_resident_saves;
  return tile.blocks > 1 ? cost + costs.conv_wgmma_second_block : cost;
}

std::vector<Spec> specs_of(const ConvRequest& conv, const Chip& chip) {
  std::vector<Spec> all;
  Spec spec = without_tile(conv);
  Tile& tile = spec.tile;
  tile.k_bytes = bytes_of_k(conv.cin());
  for (const Form& form : kForms) {
    tile.bm_wg = form.bm_wg, tile.warpgroups = form.warpgroups, tile.pingpong = form.pingpong;
    for (const s32 bn : kColumns) {
      tile.bn = bn;
      if (tile.bn > 32 && tile.bn >= 2 * conv.cout()) continue;
      for (tile.blocks = 1; tile.blocks <= 2; ++tile.blocks) add_modes(conv, spec, chip, all);
    }
  }
  std::ranges::stable_sort(all, {}, [&](const Spec& each) { return cost_of(conv, each, chip); });
  return all;
}

}  // namespace octet::cuda::conv_wgmma
