// SPDX-License-Identifier: Apache-2.0
// How threads share out a product of pixels and channels: in pieces of some of the pixels by some of the channels.
#pragma once

#include "core/types.h"

namespace octet {

struct ThreadGrid {
  s64 rows = 1;     // parts of the pixels
  s64 columns = 1;  // parts of the channels
};

// Rows and columns are what can be shared out: tiles of pixels, blocks of channels.
struct GridWork {
  s64 rows, columns;
  f64 cycles;                   // one row times one column
  s64 row_bytes, column_bytes;  // all activations that are read, and all weights
};

// At most `threads` pieces, those that the slowest thread is done with first.
ThreadGrid choose_thread_grid(const GridWork& work, s64 threads);

}  // namespace octet
