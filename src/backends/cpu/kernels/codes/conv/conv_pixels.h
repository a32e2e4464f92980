// SPDX-License-Identifier: Apache-2.0
// From the number of a tile's pixels to code that keeps so many of them in registers. Included by instruction-set files, all
// of internal linkage.
#pragma once

#include "backends/cpu/kernels/codes/conv/conv_args.h"

namespace octet {
namespace {

template <int kCount>
struct Pixels {
  static constexpr int kPixels = kCount;
};

// row(Pixels<n>) for the tile's n, 1 to 6.
template <class Row>
inline void with_pixels(const ConvTile& tile, const Row& row) {
  switch (tile.pixels) {
    case 1:
      return row(Pixels<1>{});
    case 2:
      return row(Pixels<2>{});
    case 3:
      return row(Pixels<3>{});
    case 4:
      return row(Pixels<4>{});
    case 5:
      return row(Pixels<5>{});
    default:
      return row(Pixels<6>{});
  }
}

}  // namespace
}  // namespace octet
