// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/conv_wgmma/tile.h"

namespace octet::cuda::conv_wgmma {
namespace {

// Registers that hold sums, and what waits to be added to them. Of two blocks that share a multiprocessor, each thread has 80: not enough for
// 64 sums, an operand and the edges that a pixel may lie on.
bool fits_registers(const ConvRequest& conv, const WindowTile& tile, bool edges) {
  constexpr s32 kMost = 128, kMostWithOperand = 96, kMostOfTwo = 64, kMostOfTwoWithBoth = 32;
  const s32 sums = tile.bm_wg / 64 * tile.bn / 2;
  const bool operand = conv.product.has_residual || conv.product.has_addend;
  if (tile.blocks > 1) return sums <= (operand && edges ? kMostOfTwoWithBoth : kMostOfTwo);
  return sums <= (operand ? kMostWithOperand : kMost);
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
  return {.main = {.window = conv_window(conv),
                   .number_bytes = 1,
                   .w_terms = 0,
                   .residual_bytes = 0,
                   .tile = {}},
          .at = {},
          .end = end,
          .edges = edges_of(conv),
          .parts = parts_of(conv),
          .real_type = conv.product.real_type,
          .y_access = 1};
}

}  // namespace

Edge::Edge(const WindowAxis& axis) {
  if (axis.pad_begin == 0 && axis.pad_end == 0) return;
  for (s64 o = 0; o < axis.out; ++o) {
    const TapRange taps = taps_inside(axis, o);
    if (taps.first == 0 && taps.last == axis.kernel) continue;
    (o < axis.out / 2 ? first : last) += 1;
  }
}

std::vector<CostedSpec> specs_of(const ConvRequest& conv, const Chip& chip) {
  const Spec spec = without_tile(conv);
  const Costs& costs = chip.costs();
  const bool edges = spec.edges.exist;
  const TileChoice choice{
      .main = spec.main,
      .geometry = conv.geometry,
      .bytes = conv_bytes(conv),
      .finish_rate = costs.conv_wgmma_finish_rate,
      .residual_cycles = conv.product.has_residual ? costs.conv_wgmma_residual : 0.0,
      .y_bytes = out_bytes(spec.end),  // four channels are a store of reals of any type
      .memory =
          [&](const TiledWindow& main) {
            return tiled_memory(main, kWordsOfChannel, table_bytes(spec.end));
          },
      .fits =
          [&](const WindowTile& tile) {
            if (conv.part_count() > 1 && conv.columns() % tile.bn != 0) return false;
            return fits_registers(conv, tile, edges);
          }};
  std::vector<CostedSpec> all;
  for (const CostedTile& each : window_tiles(choice, chip)) {
    all.push_back({spec, each.cost});
    all.back().spec.main.tile = each.tile;
  }
  return all;
}

}  // namespace octet::cuda::conv_wgmma
