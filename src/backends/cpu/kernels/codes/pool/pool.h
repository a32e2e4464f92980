// SPDX-License-Identifier: Apache-2.0
// Max and average pools and spatial means of u8 codes, channels last.
#pragma once

#include <vector>

#include "backends/cpu/kernels/codes/kernel_row.h"
#include "backends/cpu/kernels/codes/pool/pool_args.h"
#include "core/thread_pool.h"
#include "ops/shared/window.h"
#include "plan/offer.h"

namespace octet {

using PoolKernel = KernelRow<PooledPixel>;

// Best first.
inline constexpr PoolKernel kMaxPoolKernels[] = {
    {"max_pool_u8_vnni", Isa::vnni, max_pool_u8_vnni},
    {"max_pool_u8_avx2", Isa::avx2, max_pool_u8_avx2},
    {"max_pool_u8_neon", Isa::neon, max_pool_u8_neon},
    {"max_pool_u8_plain", Isa::none, max_pool_u8_plain},
};
inline constexpr PoolKernel kAveragePoolKernels[] = {
    {"average_pool_u8_vnni", Isa::vnni, average_pool_u8_vnni},
    {"average_pool_u8_avx2", Isa::avx2, average_pool_u8_avx2},
    {"average_pool_u8_neon", Isa::neon, average_pool_u8_neon},
    {"average_pool_u8_plain", Isa::none, average_pool_u8_plain},
};

// A window of more elements could overflow the sum of u8 in s32.
inline constexpr s64 kMaxPoolWindow = 8 << 20;
// Multipliers are kept for each pixel of an output image.
inline constexpr s64 kMaxPoolOutputs = 64 << 20;

struct PoolSpec {
  s64 batch = 1;
  s64 channels = 1;
  Window window;
  s32 zero_point = 0;
  std::vector<f32> multipliers;  // averages: one for each output pixel of an image, or one for all
  EpilogueArgs epilogue;
  Placement input;
  Placement output;
};

// Why there is no kernel for this window, or null.
const char* pool_reject(const Window& window);

class Pool {
 public:
  Pool(const PoolKernel& kernel, PoolSpec spec);
  void run(const u8* x, u8* y, ThreadPool& pool) const noexcept;

 private:
  struct Piece {
    s64 row;  // of the outputs of all images
    s64 first, last;
  };
  void run_row(const u8* x, u8* y, const Piece& piece) const noexcept;
  s64 like(s64 column, s64 last) const noexcept;

  const PoolKernel& kernel_;
  PoolSpec spec_;
  std::vector<TapRange> rows_;     // taps inside the image, for each output row
  std::vector<TapRange> columns_;  // and column
};

}  // namespace octet
