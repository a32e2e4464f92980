// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/window_tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/lower/conv_cost.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

s64 round_up(s64 value, s64 to) { return ceil_div(value, to) * to; }

bool takes_halo(const TileChoice& choice) {
  const auto plain = [](const WindowAxis& axis) { return axis.stride == 1 && axis.dilation == 1; };
  return plain(choice.h()) && plain(choice.w()) && choice.h().kernel * choice.w().kernel > 1;
}

// The widest swizzle that wastes at most an eighth of k.
s32 bytes_of_k(s64 row_bytes) {
  for (s32 bytes : {128, 64}) {
    if (round_up(row_bytes, bytes) * 8 <= row_bytes * 9) return bytes;
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

// A thread's neighbouring channels are one store of 16 bytes, of four threads 64.
s32 columns_of_group(s32 bn, s32 y_bytes) {
  constexpr s32 kBytes = 64;
  return std::min(bn, kBytes / y_bytes);
}

// How much longer than for wide rows the tensor memory accelerator takes for the windows of rows of so many bytes. Two blocks wait for
// theirs at the same time.
f64 narrowness(s64 row_bytes, s64 blocks, const Costs& costs) {
  if (row_bytes >= 128) return 1;
  const f64 more = row_bytes >= 64 ? costs.conv_wgmma_narrow_64 : costs.conv_wgmma_narrow_32;
  return 1 + more * (blocks > 1 ? costs.conv_wgmma_narrow_of_two : 1.0);
}

// The terms are a fit to 480 tiles of 90 convolutions of codes: what it chooses takes 1.7 % longer than the fastest of them.
f64 cost_of(const TileChoice& choice, const WindowTile& tile, const Chip& chip) {
  const Costs& costs = chip.costs();
  TiledWindow main = choice.main;
  main.tile = tile;
  const f64 rows = bm(tile), bn = tile.bn;
  const f64 k = static_cast<f64>(pieces(main)) * tile.k_bytes;
  const f64 weights = static_cast<f64>(pieces(main)) * weights_block(main);
  TileWork work;
  work.tiles = tiles(main);
  work.at_once = tile.blocks;
  work.overlaps = tile.pingpong;
  const bool halo = tile.mode == XMode::halo;
  const f64 loaded_rows =
      halo ? static_cast<f64>((tile.halo_rows + main.window.taps_h - 1) * tile.halo_width) : rows;
  const f64 depth = halo ? static_cast<f64>(chunks(main)) * tile.k_bytes : k;
  work.load_bytes = (loaded_rows * depth + (tile.resident ? 0.0 : weights)) *
                    (tile.mode == XMode::im2col ? narrowness(tile.k_bytes, tile.blocks, costs) : 1);
  // Half as many floats as codes, of twice the bytes.
  const f64 multiplied = static_cast<f64>(pieces(main)) * weights_row(main) * choice.products;
  work.multiply_cycles = rows * bn * multiplied / costs.rate_wgmma_s8 * choice.products_apart;
  // Each product of 64 rows reads its rows and its columns from shared memory, whose rate narrow columns reach.
  if (tile.bn <= 64)
    work.multiply_cycles *=
        tile.bn < 64 ? costs.conv_wgmma_columns_32 : costs.conv_wgmma_columns_64;
  // One warpgroup waits for its own loads and stores.
  if (tile.warpgroups == 1) work.multiply_cycles *= costs.conv_wgmma_one_warpgroup;
  work.multiply_cycles += costs.tile_begin;
  work.finish_cycles = static_cast<f64>(tile.bm_wg) * bn / choice.finish_rate;
  if (tile.blocks == 1) work.finish_cycles += choice.residual_cycles;
  f64 cost = tile_cost(work, choice.bytes, chip);
  // The same bytes, fewer of them asked for.
  if (tile.resident && !halo) cost -= costs.conv_wgmma_resident_saves;
  return tile.blocks > 1 ? cost + costs.conv_wgmma_second_block : cost;
}

class Chooser {
 public:
  Chooser(const TileChoice& choice, const Chip& chip) : choice_(choice), chip_(chip) {
    main_ = choice.main;
    main_.tile.k_bytes = bytes_of_k(s64{main_.window.cin} * main_.number_bytes);
    // A row of weights of terms has 32, 64 or 128 bytes as well.
    if (main_.w_terms > 0)
      main_.tile.k_bytes = std::clamp(main_.tile.k_bytes, 16 * main_.number_bytes,
                                      std::min(64 * main_.number_bytes, 128));
  }

  std::vector<CostedTile> run() {
    WindowTile& tile = main_.tile;
    for (const Form& form : kForms) {
      tile.bm_wg = form.bm_wg, tile.warpgroups = form.warpgroups, tile.pingpong = form.pingpong;
      for (const s32 bn : kColumns) {
        tile.bn = bn, tile.group = columns_of_group(bn, choice_.y_bytes);
        if (tile.bn > 32 && tile.bn >= 2 * main_.window.cout) continue;
        for (tile.blocks = 1; tile.blocks <= 2; ++tile.blocks) add_modes();
      }
    }
    std::ranges::stable_sort(all_, {}, &CostedTile::cost);
    return std::move(all_);
  }

 private:
  // Of each way to bring x and weights.
  void add_modes() {
    const WindowTile kept = main_.tile;
    WindowTile& tile = main_.tile;
    tile.mode = is_pointwise(choice_.geometry) ? XMode::rows : XMode::im2col;
    add();
    tile.resident = true;
    constexpr s64 kMostResident = 100 << 10;
    const bool small = s64{pieces(main_)} * weights_block(main_) <= kMostResident;
    if (small && n_tiles(main_) <= chip_.multiprocessors) add();
    tile.mode = XMode::halo;
    if (takes_halo(choice_)) add();
    tile = kept;
  }

  void add() {
    WindowTile& tile = main_.tile;
    const WindowTile kept = tile;
    tile.residuals = main_.residual_bytes > 0 && tile.mode != XMode::halo
                         ? 1
                         : 0;  // set_stages() knows how many
    if ((tile.mode != XMode::halo || set_halo()) && choice_.fits(tile) && set_stages())
      all_.push_back({tile, cost_of(choice_, tile, chip_)});
    tile = kept;
  }

  bool set_halo() {
    WindowTile& tile = main_.tile;
    constexpr s64 kLargestBox = 256;
    const s64 width = choice_.w().out + choice_.w().kernel - 1;
    if (width > kLargestBox) return false;
    tile.halo_width = static_cast<s32>(width);
    tile.halo_rows = static_cast<s32>(
        std::min({bm(tile) / width, choice_.h().out, kLargestBox - choice_.h().kernel + 1}));
    return tile.halo_rows >= 1;
  }

  // As many stages as the memory and the length of k ask for.
  bool set_stages() {
    constexpr s32 kMost = 8, kStageBytes = 16 << 10;
    WindowTile& tile = main_.tile;
    const s64 most = chip_.shared_bytes / tile.blocks - chip_.reserved_shared_bytes;
    const s32 stage = tile.k_bytes * (bm(tile) + tile.bn);
    const bool one = tile.mode == XMode::halo || main_.w_terms > 0;
    tile.sub = one ? 1 : std::clamp(kStageBytes / stage, 1, pieces(main_));
    const s32 fewest = tile.residuals > 0 ? fewest_residuals(tile) : 0;
    for (tile.residuals = most_residuals(); tile.residuals >= fewest; --tile.residuals) {
      // Another tile's residual is worth less than a third stage.
      for (tile.stages = kMost; tile.stages >= (tile.residuals > fewest ? 3 : 2); --tile.stages) {
        if (choice_.memory(main_).all <= most) return true;
      }
    }
    return false;
  }

  // One is waited for while another is added: by another block, or by this one. Warpgroups that take turns have one each.
  static s32 fewest_residuals(const WindowTile& tile) {
    return tile.blocks > 1 && !tile.pingpong ? 1 : 2;
  }
  // So many that memory's latency is hidden.
  s32 most_residuals() const {
    constexpr s32 kBytes = 64 << 10, kMost = 4;
    const WindowTile& tile = main_.tile;
    if (tile.residuals == 0) return 0;
    const s32 fewest = fewest_residuals(tile);
    return std::clamp(kBytes / tile.blocks / residual_block(main_), fewest, kMost);
  }

  const TileChoice& choice_;
  const Chip& chip_;
  TiledWindow main_;
  std::vector<CostedTile> all_;
};

}  // namespace

bool is_pointwise(const ConvGeometry& geometry) {
  const auto one = [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  };
  return one(geometry.window.h()) && one(geometry.window.w());
}

std::string tile_name(const WindowTile& tile) {
  constexpr std::string_view kModes[] = {"rows", "im2col", "halo"};
  return fmt::format("{}x{}{}_{}{}{}", bm(tile), tile.bn,
                     tile.pingpong          ? "pp"
                     : tile.warpgroups == 1 ? "w1"
                                            : "co",
                     kModes[static_cast<size_t>(tile.mode)],
                     tile.resident && tile.mode != XMode::halo ? "_res" : "",
                     tile.blocks > 1 ? "_x2" : "");
}

std::vector<CostedTile> window_tiles(const TileChoice& choice, const Chip& chip) {
  return Chooser(choice, chip).run();
}

std::string reject_window(const ConvGeometry& geometry, s32 number_bytes) {
  if (geometry.groups != 1) return "it has groups";
  if (geometry.in_channels * number_bytes % kTmaAlignment != 0)
    return fmt::format("input channels are not a multiple of {}", kTmaAlignment / number_bytes);
  constexpr s64 kLargestCorner = 127, kLargestStride = 8;
  for (const WindowAxis& axis : {geometry.window.h(), geometry.window.w()}) {
    if (axis.extent() > kLargestCorner || axis.pad_begin > kLargestCorner ||
        axis.stride > kLargestStride)
      return "the window is large";
    if (axis.out < 1) return "the image is small";
  }
  return {};
}

TensorMap tiled_x_map(const TiledWindow& main, const ConvGeometry& geometry,
                      const PixelStrides& bytes, const CudaDevice& device, const void* x) {
  const WindowTile& tile = main.tile;
  const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
  const s64 row_bytes = s64{main.window.cin} * main.number_bytes;
  if (tile.mode == XMode::rows)
    return rows_map(device, {row_bytes, main.window.pixels, bytes.pixel, tile.k_bytes, bm(tile)},
                    x);
  const ImageMap image{
      {row_bytes, w.in, h.in, geometry.batch}, {bytes.pixel, bytes.row, bytes.image}, tile.k_bytes};
  if (tile.mode == XMode::halo)
    return tile_map(device, image, tile.halo_width, tile.halo_rows + h.kernel - 1, x);
  const auto upper = [](const WindowAxis& axis) {
    // The last window begins here, counted from the last pixel of x.
    return (axis.out - 1) * axis.stride - axis.pad_begin - (axis.in - 1);
  };
  return im2col_map(
      device, image,
      {{-w.pad_begin, -h.pad_begin}, {upper(w), upper(h)}, {w.stride, h.stride}, bm(tile)}, x);
}

s64 tiled_blocks(const TiledWindow& main, const Chip& chip) {
  const s64 columns = n_tiles(main);
  const s64 blocks = std::min<s64>(tiles(main), s64{chip.multiprocessors} * main.tile.blocks);
  // Weights that stay are those of one column tile.
  return main.tile.resident ? std::max(columns, blocks / columns * columns) : blocks;
}

bool is_rolled(const TiledWindow& main, s64 blocks) {
  constexpr s64 kTilesOfLoop = 2;
  return tiles(main) <= kTilesOfLoop * blocks;
}

}  // namespace octet::cuda
