// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/separable_tile.h"

#include <algorithm>
#include <utility>

#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kQuad = 4, kGroup = 16,
              kStep = 32;  // pixels of a word; channels of a warp; bytes of k
constexpr s64 kPad = 16;   // bytes behind a row, so that eight rows meet no bank twice
constexpr f64 kWarp = 32;
constexpr s64 kTables = 3 * 256;

s64 filled_up(s64 value, s64 to) { return ceil_div(value, to) * to; }

// Of one result, beyond those of a plain end.
f64 steps_of_end(const Product& product) {
  f64 steps = product.table ? 9 : 0;
  if (product.epilogue.activation.kind == Activation::Kind::leaky_relu) steps += 3;
  return product.has_residual ? steps + 2 : steps;
}

f64 ceil_of(s64 value, s64 by) { return static_cast<f64>(ceil_div(value, by)); }

f64 fill_steps(const SeparableRequest& request, const SeparableTile& tile,
               const SeparableMemory& m) {
  const s64 channels = request.window.geometry.out_channels;
  if (!request.expand) return static_cast<f64>(m.in_quads) * ceil_of(channels, kGroup) * 62 / kWarp;
  const f64 k = ceil_of(request.expand->cin(), kStep), groups = tile.slice % 32 == 0 ? 2 : 1;
  const f64 units = static_cast<f64>(m.in_units) * ceil_of(channels, kGroup * (groups > 1 ? 2 : 1));
  return units * (groups * (55 + 7 * k + 16 * steps_of_end(request.expand->product)) + 20 + 4 * k);
}

f64 load_steps(const SeparableRequest& request, const SeparableMemory& m) {
  const s64 channels = request.first().geometry.in_channels;
  const s64 access = common_power(16, {channels});
  return static_cast<f64>(m.in_quads * channels / access) * 30 / kWarp;
}

f64 window_steps(const SeparableRequest& request, const SeparableTile& tile,
                 const SeparableMemory& m) {
  const ConvRequest& window = request.window;
  const f64 rows = static_cast<f64>(tile.rows), taps = static_cast<f64>(window.h().kernel);
  const f64 words = ceil_of(window.w().kernel, kQuad);
  const f64 in_rows = (rows - 1) * static_cast<f64>(window.h().stride) + taps;
  const f64 channel = in_rows * (static_cast<f64>(m.span) + 3 * words) +
                      4 * rows * (taps * words + 2.6 + steps_of_end(window.product)) + 8;
  const s64 items = tile.places() * ceil_div(tile.slice, kGroup) * kQuad;
  return static_cast<f64>(m.slices * ceil_div(items, tile.threads()) * tile.threads()) / kWarp *
         (4 * channel + 12 * rows + 30);
}

f64 project_steps(const SeparableRequest& request, const SeparableTile& tile,
                  const SeparableMemory& m) {
  const f64 down = static_cast<f64>(tile.tiles_m), across = static_cast<f64>(tile.tiles_n);
  if (!request.project) return 0;
  return static_cast<f64>(m.slices * tile.threads() * (m.a_bytes / kStep)) / kWarp *
         (down * across * 1.5 + down + across / 2 + 8);
}

f64 finish_steps(const SeparableRequest& request, const SeparableTile& tile) {
  const f64 down = static_cast<f64>(tile.tiles_m), across = static_cast<f64>(tile.tiles_n);
  if (request.project)
    return static_cast<f64>(tile.threads()) / kWarp * down *
           (across * 4 * (3.6 + steps_of_end(request.project->product)) + 24);
  const s64 stored = tile.pixels() * request.window.geometry.out_channels;
  return static_cast<f64>(stored) / 16 / kWarp * (request.pooled ? 18 : 30);
}

// Instructions of all warps for one tile, those that take long counted more often.
f64 steps_of(const SeparableRequest& request, const SeparableTile& tile, const Costs& costs) {
  const f64 of_load = request.expand ? costs.separable_load_to_expand : costs.separable_load;
  const SeparableMemory m = memory_of(request, tile);
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
bool set_warps(const SeparableRequest& request, SeparableTile& tile, s64 warps) {
  constexpr s64 kMostTiles = 16;
  const s64 rows = ceil_div(tile.pixels(), kGroup);
  const s64 outputs = request.project ? request.project->cout() : 0;
  for (tile.warps_n = 1; tile.warps_n <= warps; tile.warps_n *= 2) {
    tile.warps_m = warps / tile.warps_n;
    tile.tiles_m = ceil_div(rows, tile.warps_m);
    tile.tiles_n = std::max<s64>(2, 2 * ceil_div(outputs, kGroup * tile.warps_n));
    if (tile.tiles_m * tile.tiles_n <= kMostTiles && tile.tiles_n <= 8) return true;
  }
  return false;
}

void add_blocks(const SeparableRequest& request, SeparableTile tile, const Chip& chip,
                std::vector<SeparableTile>& all) {
  constexpr s64 kMostBlocks = 8;
  const s64 shared = memory_of(request, tile).all;
  if (shared > chip.shared_bytes_per_block) return;
  const s64 wanted = 64 + (request.project ? 4 * tile.tiles_m * tile.tiles_n : 0);
  tile.blocks = std::min(chip.blocks_at_once(tile.threads(), wanted, shared), kMostBlocks);
  if (tile.blocks < 1) return;
  all.push_back(tile);
}

void add_slices(const SeparableRequest& request, SeparableTile tile, const Chip& chip,
                std::vector<SeparableTile>& all) {
  constexpr s64 kWidest = 128;
  const s64 channels = filled_up(request.window.geometry.out_channels, kGroup);
  for (tile.slice = kGroup; tile.slice <= std::min(channels, kWidest); tile.slice += kGroup) {
    for (const s64 warps : {4, 8}) {
      if (set_warps(request, tile, warps)) add_blocks(request, tile, chip, all);
    }
  }
}

void add_heights(const SeparableRequest& request, SeparableTile tile, const Chip& chip,
                 std::vector<SeparableTile>& all) {
  constexpr s64 kLeastPixels = 16, kMostPixels = 512, kHighest = 32;
  const s64 highest = std::min(kHighest, filled_up(request.window.h().out, tile.rows));
  for (tile.th = tile.rows; tile.th <= highest; tile.th += tile.rows) {
    if (request.pooled && tile.th % 2 != 0) continue;
    if (tile.pixels() >= kLeastPixels && tile.pixels() <= kMostPixels)
      add_slices(request, tile, chip, all);
  }
}

}  // namespace

std::string SeparableTile::name() const {
  return fmt::format("{}x{}r{}c{}w{}x{}b{}", th, tw, rows, slice, warps_m, warps_n, blocks);
}

s64 tiles_of(const SeparableRequest& request, const SeparableTile& tile) {
  const ConvRequest& window = request.window;
  return window.geometry.batch * ceil_div(window.h().out, tile.th) *
         ceil_div(window.w().out, tile.tw);
}

SeparableMemory memory_of(const SeparableRequest& request, const SeparableTile& tile) {
  const WindowAxis &h = request.window.h(), &w = request.window.w();
  SeparableMemory m;
  m.in_rows = (tile.th - 1) * h.stride + h.kernel;
  const s64 words = ceil_div(w.kernel, kQuad);
  m.span = (3 * w.stride + 4 * words - 1) / kQuad + 1;
  m.in_quads = m.in_rows * ((tile.quads() - 1) * w.stride + m.span);
  m.in_units = ceil_div(m.in_quads, s64{8});
  m.plane = (m.in_quads + 5) / 8 * 8 + 2;
  m.slices = ceil_div(request.window.geometry.out_channels, tile.slice);
  m.channels = m.slices * tile.slice;
  m.k_pitch = filled_up(request.first().geometry.in_channels, kStep) + kPad;
  m.a_bytes = filled_up(tile.slice, kStep);
  m.p_pitch = m.slices * m.a_bytes + kPad;
  m.taps = filled_up(h.kernel * words + 1, kQuad);
  const s64 expanded = request.expand ? m.channels : 0,
            outputs = request.project ? tile.outputs() : 0;
  m.expand_ends = expanded * m.k_pitch;
  m.taps_at = m.expand_ends + expanded * 8;
  m.scales = m.taps_at + m.channels * m.taps * 4;
  m.project = m.scales + m.channels * 4;
  m.project_ends = m.project + outputs * m.p_pitch;
  m.tables = m.project_ends + outputs * 8;
  m.kept = m.tables + kTables;
  m.x = m.kept;
  const s64 slice_pitch = tile.slice % kStep == 0 ? tile.slice + kPad : tile.slice;
  m.inside = m.x + kQuad * 8 * m.in_units * (request.expand ? m.k_pitch : slice_pitch);
  m.planes = m.inside + (request.expand ? 4 * m.in_quads : 0);
  m.a = filled_up(m.planes + tile.slice * m.plane * 4, s64{16});
  m.all = m.a + std::max(tile.pixels(), 16 * tile.tiles_m * tile.warps_m) * (m.a_bytes + kPad);
  return m;
}

// A fit to 1,620 tiles of 54 chains, each measured in its network with an earlier form of the kernel (10 % off). The start, loads without a
// convolution before the window, and tables were then set by a few layers and whole runs of the present one: by judgement, not by a fit.
f64 separable_cost(const SeparableRequest& request, const SeparableTile& tile, const Chip& chip) {
  const Costs& costs = chip.costs();
  const SeparableMemory m = memory_of(request, tile);
  const f64 steps = steps_of(request, tile, costs), chips = chip.multiprocessors;
  const s64 tiles = tiles_of(request, tile);
  const f64 beside =
      std::clamp(static_cast<f64>(tiles) / chips, 1.0, static_cast<f64>(tile.blocks));
  const f64 alone = steps * costs.separable_alone * kWarp / static_cast<f64>(tile.threads()) +
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

std::vector<SeparableTile> separable_tiles(const SeparableRequest& request, const Chip& chip) {
  std::vector<SeparableTile> all;
  SeparableTile tile;
  for (tile.rows = 1; tile.rows <= 4; tile.rows *= 2) {
    for (const s64 width : {s64{8}, s64{16}, s64{32}, request.window.w().out}) {
      tile.tw = filled_up(width, kQuad);
      if (tile.tw <= filled_up(request.window.w().out, kQuad))
        add_heights(request, tile, chip, all);
    }
  }
  // There are hundreds: each is estimated once.
  std::vector<std::pair<f64, size_t>> order;
  for (const SeparableTile& each : all)
    order.emplace_back(separable_cost(request, each, chip), order.size());
  std::ranges::sort(order);
  std::vector<SeparableTile> sorted;
  for (const auto& [cost, i] : order) sorted.push_back(all[i]);
  return sorted;
}

}  // namespace octet::cuda
