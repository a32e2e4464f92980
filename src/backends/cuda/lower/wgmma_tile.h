// SPDX-License-Identifier: Apache-2.0
// The tiles that kernels/conv_wgmma.cu can take for a convolution.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/lower/conv_cost.h"

namespace octet::cuda {

enum class XMode : u8 { rows, im2col, halo };

struct WgmmaTile {
  XMode mode = XMode::rows;
  s64 bm_wg = 64;  // rows of a warpgroup: 64 or 128
  s64 bn = 64;     // columns: 32, 64, 128, 192 or 256
  s64 bki = 64;    // bytes of k in a row of shared memory: 32, 64 or 128
  s64 sub = 1;     // such pieces in a stage
  s64 stages = 4;
  s64 warpgroups = 2;
  bool pingpong = false;
  bool resident = false;
  s64 blocks = 1;      // that share a multiprocessor
  s64 th = 0, wp = 0;  // halo: rows of y in a tile, pixels of a row with its halo

  s64 bm() const { return pingpong ? bm_wg : bm_wg * warpgroups; }
  std::string name() const;
};

// Where things lie in shared memory, in bytes.
struct WgmmaMemory {
  s64 a_block = 0, weights = 0, end = 0, table = 0, barriers = 0, all = 0;
  s64 end_bytes = 0;  // of the biases, and of the multipliers
};

// Rows or columns of y, at both ends, whose windows reach into padding.
struct Edge {
  s64 first = 0, last = 0;

  explicit Edge(const WindowAxis& axis);
  s64 classes() const { return 1 + first + last; }
  // The output whose class this is; 0 has none.
  s64 output(s64 index, const WindowAxis& axis) const {
    return index <= first ? index - 1 : axis.out - last + (index - 1 - first);
  }
};

// Padding holds the zero point, and the accelerator brings zeros: what that makes of the sums is a constant of the pixel's class.
bool needs_edges(const ConvRequest& conv);

s64 chunks_of(const ConvRequest& conv, const WgmmaTile& tile);
s64 pieces_of(const ConvRequest& conv, const WgmmaTile& tile);
s64 m_tiles(const ConvRequest& conv, const WgmmaTile& tile);
s64 n_tiles(const ConvRequest& conv, const WgmmaTile& tile);
WgmmaMemory memory_of(const ConvRequest& conv, const WgmmaTile& tile);

// Those that fit the chip, the one with the least estimated cost first; none where the kernel cannot run it.
std::vector<WgmmaTile> wgmma_tiles(const ConvRequest& conv, const Chip& chip);
f64 wgmma_cost(const ConvRequest& conv, const WgmmaTile& tile, const Chip& chip);

}  // namespace octet::cuda
