// SPDX-License-Identifier: Apache-2.0
// Of an instruction set that takes one value of each pixel at a time: none of a run by fours. Included before panel_body.h.
#pragma once

namespace octet {
namespace {

template <int kPixels, int kVectors, class Pixels, class Sums>
__attribute__((always_inline)) inline long panel_fours(const Pixels&, const float*, long, Sums&) {
  return 0;
}

}  // namespace
}  // namespace octet
