// SPDX-License-Identifier: Apache-2.0
// The tiles that a product on a Hopper's warpgroups can have, of codes or of numbers of 16 bits (device/tiled_window.h), and what each costs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/device/tiled_window.h"
#include "backends/cuda/lower/tensor_map.h"
#include "ops/shared/conv.h"

namespace octet::cuda {

constexpr s64 kTmaAlignment = 16;  // of addresses and strides, in bytes

struct TileChoice {
  TiledWindow main;  // without a tile
  ConvGeometry geometry;
  f64 bytes = 0;                             // that pass the device's memory
  f64 finish_rate = 0, residual_cycles = 0;  // of the end of a tile: Costs
  s32 y_bytes = 1;                           // of a channel
  s32 products = 1;                          // of terms, of each number of x by a weight
  f64 products_apart = 1;                    // how much longer each takes than one of numbers
  std::function<TiledMemory(const TiledWindow&)> memory;
  std::function<bool(const WindowTile&)> fits;  // registers

  const WindowAxis& h() const { return geometry.window.h(); }
  const WindowAxis& w() const { return geometry.window.w(); }
};

// 1x1, each pixel of y from that of x.
bool is_pointwise(const ConvGeometry& geometry);

struct CostedTile {
  WindowTile tile;
  f64 cost = 0;
};
// All that fit the chip, the one with the least estimated cost first.
std::vector<CostedTile> window_tiles(const TileChoice& choice, const Chip& chip);
// Of a kernel, behind its family's name.
std::string tile_name(const WindowTile& tile);

// Why the tensor memory accelerator cannot bring x, or empty.
std::string reject_window(const ConvGeometry& geometry, s32 number_bytes);
// As the accelerator is told of x, whose strides are in bytes.
TensorMap tiled_x_map(const TiledWindow& main, const ConvGeometry& geometry,
                      const PixelStrides& bytes, const CudaDevice& device, const void* x);
// Blocks that are started: they go from tile to tile.
s64 tiled_blocks(const TiledWindow& main, const Chip& chip);
// So few tiles of a block that its end is a loop.
bool is_rolled(const TiledWindow& main, s64 blocks);

}  // namespace octet::cuda
