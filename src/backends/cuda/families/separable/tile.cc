// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/separable/tile.h"

#include <algorithm>
#include <utility>

#include "core/divide.h"

namespace octet::cuda {
namespace {

using separable::filled_up;
using separable::kGroup;
using separable::kQuad;
using separable::kStep;
using separable::memory;
using separable::Memory;
using separable::Sizes;
using separable::Tile;

constexpr f64 kWarp = 32;

// Of one result, beyond those of a plain end.
f64 steps_of_end(const Product& product) {
  f64 steps = product.table ? 9 : 0;
  if (product.epilogue.activation.kind == Activation::Kind::leaky_relu) steps += 3;
  return product.has_residual ? steps + 2 : steps;
}

f64 ceil_of(s64 value, s64 by) { return static_cast<f64>(ceil_div(value, by)); }

f64 fill_steps(const SeparableRequest& request, const Tile& tile, const Memory& m) {
  const s64 channels = request.window.geometry.out_channels;
  if (!request.expand) return static_cast<f64>(m.in_quads) * ceil_of(channels, kGroup) * 62 / kWarp;
  const f64 k = ceil_of(request.expand->cin(), kStep), groups = separable::groups(tile);
  const f64 units =
      static_cast<f64>(m.in_units) * ceil_of(channels, kGroup * separable::groups(tile));
  return units * (groups * (55 + 7 * k + 16 * steps_of_end(request.expand->product)) + 20 + 4 * k);
}

f64 load_steps(const SeparableRequest& request, const Memory& m) {
  const s64 channels = request.first().geometry.in_channels;
  const s64 access = common_power(16, {channels});
  return static_cast<f64>(m.in_quads * channels / access) * 30 / kWarp;
}

f64 window_steps(const SeparableRequest& request, const Tile& tile, const Memory& m) {
  const ConvRequest& window = request.window;
  const f64 rows = static_cast<f64>(tile.rows), taps = static_cast<f64>(window.h().kernel);
  const f64 words = ceil_of(window.w().kernel, kQuad);
  const f64 in_rows = (rows - 1) * static_cast<f64>(window.h().stride) + taps;
  const f64 channel = in_rows * (static_cast<f64>(m.span) + 3 * words) +
                      4 * rows * (taps * words + 2.6 + steps_of_end(window.product)) + 8;
  const s64 items = s64{places(tile)} * ceil_div_s32(tile.slice, kGroup) * kQuad;
  return static_cast<f64>(m.slices * ceil_div(items, s64{threads(tile)}) * threads(tile)) / kWarp *
         (4 * channel + 12 * rows + 30);
}

f64 project_steps(const SeparableRequest& request, const Tile& tile, const Memory& m) {
  const f64 down = static_cast<f64>(tile.tiles_m), across = static_cast<f64>(tile.tiles_n);
  if (!request.project) return 0;
  return static_cast<f64>(m.slices * threads(tile) * (m.a_bytes / kStep)) / kWarp *
         (down * across * 1.5 + down + across / 2 + 8);
}

f64 finish_steps(const SeparableRequest& request, const Tile& tile) {
  const f64 down = static_cast<f64>(tile.tiles_m), across = static_cast<f64>(tile.tiles_n);
  if (request.project)
    return static_cast<f64>(threads(tile)) / kWarp * down *
           (across * 4 * (3.6 + steps_of_end(request.project->product)) + 24);
  const s64 stored = pixels(tile) * request.window.geometry.out_channels;
  return static_cast<f64>(stored) / 16 / kWarp * (request.pooled ? 18 : 30);
}

// Instructions of all warps for one tile, those that take long counted more often.
f64 steps_of(const SeparableRequest& request, const Tile& tile, const Costs& costs) {
  const f64 of_load = request.expand ? costs.separable_load_to_expand : costs.separable_load;
  const Memory m = memory(sizes_of(request), tile);
  return costs.separable_fill * fill_steps(request, tile, m) + of_load * load_steps(request, m) +
         costs.separable_window * window_steps(request, tile, m) +
         costs.separable_project * project_steps(request, tile, m) +
         costs.separable_finish * finish_steps(request, tile);
}

f64 moved_bytes(const SeparableRequest& request) {
  const ConvRequest& last = request.last();
  f64 bytes = static_cast<f64>(request.first().x.elements() + request.y.elements());
  if (last.product.has_residual && request.expand == std::nullopt)
    bytes += static_cast<f64>(last.y.elements());
  if (last.product.has_addend) bytes += static_cast<f64>(last.y.elements());
  return bytes;
}

// Warps of mma tiles that cover the pixels and the outputs.
bool set_warps(const SeparableRequest& request, Tile& tile, s32 warps) {
  constexpr s64 kMostTiles = 16;
  const s32 rows = ceil_div_s32(pixels(tile), kGroup);
  const s64 outputs = request.project ? request.project->cout() : 0;
  for (tile.warps_n = 1; tile.warps_n <= warps; tile.warps_n *= 2) {
    tile.warps_m = warps / tile.warps_n;
    tile.tiles_m = ceil_div_s32(rows, tile.warps_m);
    const s64 tiles_n = std::max<s64>(2, 2 * ceil_div(outputs, s64{kGroup} * tile.warps_n));
    tile.tiles_n = field_of(tiles_n);
    if (tile.tiles_m * tiles_n <= kMostTiles && tiles_n <= 8) return true;
  }
  return false;
}

// What all tiles are made for.
struct Search {
  const SeparableRequest& request;
  const Chip& chip;
  const Sizes sizes;
  std::vector<Tile> all = {};
};

void add_blocks(Search& search, Tile tile) {
  constexpr s64 kMostBlocks = 8;
  const s64 shared = memory(search.sizes, tile).all;
  if (shared > search.chip.shared_bytes_per_block) return;
  const s64 wanted = 64 + (search.sizes.project ? 4 * tile.tiles_m * tile.tiles_n : 0);
  tile.blocks =
      field_of(std::min(search.chip.blocks_at_once(threads(tile), wanted, shared), kMostBlocks));
  if (tile.blocks < 1) return;
  search.all.push_back(tile);
}

void add_slices(Search& search, Tile tile) {
  constexpr s64 kWidest = 128;
  const s64 channels = filled_up(search.sizes.channels, kGroup);
  for (tile.slice = kGroup; tile.slice <= std::min(channels, kWidest); tile.slice += kGroup) {
    for (const s32 warps : {4, 8}) {
      if (set_warps(search.request, tile, warps)) add_blocks(search, tile);
    }
  }
}

constexpr s64 kLeastPixels = 16, kMostPixels = 512;  // of a tile

void add_heights(Search& search, Tile tile) {
  constexpr s64 kHighest = 32;
  const s64 highest = std::min(kHighest, filled_up(search.sizes.out_h, tile.rows));
  for (tile.height = tile.rows; tile.height <= highest; tile.height += tile.rows) {
    if (tile.height % search.sizes.pool != 0) continue;
    if (pixels(tile) >= kLeastPixels && pixels(tile) <= kMostPixels) add_slices(search, tile);
  }
}

void add_widths(Search& search, Tile tile) {
  const s64 out_w = search.sizes.out_w;
  for (const s64 width : {s64{8}, s64{16}, s64{32}, out_w}) {
    const s64 filled = filled_up(width, kQuad);
    if (filled > std::min(filled_up(out_w, kQuad), kMostPixels)) continue;
    tile.width = field_of(filled);
    add_heights(search, tile);
  }
}

// Lines of finer codes, of one convolution at least, take more than codes.
s32 bytes_of_tables(const SeparableRequest& request) {
  const auto parts = request.parts();
  const bool fine = std::ranges::any_of(parts, [](const ConvRequest* conv) {
    return conv != nullptr && conv->product.epilogue.fine_zero_point.has_value();
  });
  return fine ? kFineBytes : 256;
}

}  // namespace

std::string name_of(const Tile& tile) {
  return fmt::format("{}x{}r{}c{}w{}x{}b{}", tile.height, tile.width, tile.rows, tile.slice,
                     tile.warps_m, tile.warps_n, tile.blocks);
}

Sizes sizes_of(const SeparableRequest& request) {
  const WindowAxis &h = request.window.h(), &w = request.window.w();
  return {.expand = request.expand.has_value(),
          .project = request.project.has_value(),
          .x_channels = field_of(request.first().geometry.in_channels),
          .images = field_of(request.window.geometry.batch),
          .in_h = field_of(h.in),
          .in_w = field_of(w.in),
          .channels = field_of(request.window.geometry.out_channels),
          .taps_h = field_of(h.kernel),
          .taps_w = field_of(w.kernel),
          .stride_h = field_of(h.stride),
          .stride_w = field_of(w.stride),
          .pad_top = field_of(h.pad_begin),
          .pad_left = field_of(w.pad_begin),
          .out_h = field_of(h.out),
          .out_w = field_of(w.out),
          .y_channels = field_of(request.last().geometry.out_channels),
          .pool = request.pooled ? 2 : 1,
          .table_bytes = bytes_of_tables(request)};
}

// A fit to 1,620 tiles of 54 chains, each measured in its network with an earlier form of the kernel (10 % off). The start, loads without a
// convolution before the window, and tables were then set by a few layers and whole runs of the present one: by judgement, not by a fit.
f64 separable_cost(const SeparableRequest& request, const Tile& tile, const Chip& chip) {
  const Costs& costs = chip.costs();
  const Sizes sizes = sizes_of(request);
  const Memory m = memory(sizes, tile);
  const f64 steps = steps_of(request, tile, costs), chips = chip.multiprocessors;
  const s64 tiles = separable::tiles(sizes, tile);
  const f64 beside =
      std::clamp(static_cast<f64>(tiles) / chips, 1.0, static_cast<f64>(tile.blocks));
  const f64 alone = steps * costs.separable_alone * kWarp / static_cast<f64>(threads(tile)) +
                    costs.separable_slice * static_cast<f64>(m.slices);
  const f64 busy = ceil_of(tiles, s64{chip.multiprocessors} * tile.blocks) *
                   std::max(alone, beside * steps / costs.separable_issued);
  const f64 rate = chip.memory_bytes_per_second / std::max(1.0, chip.clock_hertz);
  const f64 moving = moved_bytes(request) / (std::max(1.0, rate) * costs.separable_memory_share);
  // Steps with tables take that much longer than their estimates.
  const auto tables = std::ranges::count_if(request.parts(), [](const ConvRequest* conv) {
    return conv != nullptr && conv->product.table;
  });
  return costs.separable_start + costs.separable_kept_byte * static_cast<f64>(m.kept) +
         std::max(busy, moving) + costs.separable_apart * std::min(busy, moving) -
         costs.separable_tables_apart * static_cast<f64>(tables);
}

std::vector<Tile> separable_tiles(const SeparableRequest& request, const Chip& chip) {
  Search search{request, chip, sizes_of(request)};
  for (s32 rows = 1; rows <= 4; rows *= 2) {
    Tile tile{};
    tile.rows = rows;
    add_widths(search, tile);
  }
  const std::vector<Tile>& all = search.all;
  // There are hundreds: each is estimated once.
  std::vector<std::pair<f64, size_t>> order;
  for (const Tile& each : all)
    order.emplace_back(separable_cost(request, each, chip), order.size());
  std::ranges::sort(order);
  std::vector<Tile> sorted;
  for (const auto& [cost, i] : order) sorted.push_back(all[i]);
  return sorted;
}

}  // namespace octet::cuda
