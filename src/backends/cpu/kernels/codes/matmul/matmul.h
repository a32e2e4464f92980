// SPDX-License-Identifier: Apache-2.0
// Batched matrix product of two u8 activations (attention), on the convolution's kernels: b is packed at run time, by each
// thread for the batches that it works on.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/kernels/codes/aligned.h"
#include "backends/cpu/kernels/codes/conv/conv.h"
#include "ops/shared/matmul_views.h"

namespace octet {

// b becomes s8 by subtracting 128, so with z = zero_b - 128:
//   sum (a - zero_a)(b - zero_b) = sum a * b' - z * sum(a) - zero_a * sum(b') + k * zero_a * z
// where a kernel that multiplies a - shift lacks shift * sum(b').
struct MatmulSpec {
  MatMulViews views;
  s32 zero_a = 0;
  s32 zero_b = 0;
  std::span<const s32> bias;        // [n] or empty
  std::span<const f32> multiplier;  // [n] or [1]
  EpilogueArgs epilogue;
};

// Why BatchedMatmul cannot serve this product, or null.
const char* matmul_reject(const MatMulViews& views);

class BatchedMatmul {
 public:
  BatchedMatmul(const ConvKernel& kernel, const MatmulSpec& spec);
  s64 workspace_bytes(int threads) const { return threads * thread_bytes_; }

  struct Call {
    const u8* a;
    const u8* b;
    const u8* residual;  // or null
    u8* y;
    std::byte* workspace;
    ThreadPool& pool;
  };
  void run(const Call& call) const noexcept;

 private:
  struct Workspace;
  const MatMulGeometry& geometry() const { return views_.geometry; }
  Workspace workspace_of(const Call& call, int thread) const noexcept;
  void pack(const u8* b, const Workspace& workspace) const noexcept;
  void pack_by_elements(const u8* b, const Workspace& workspace) const noexcept;
  void run_tiles(const Call& call, s64 first, s64 last, const Workspace& workspace) const noexcept;

  const ConvKernel& kernel_;
  MatMulViews views_;
  s32 zero_a_;
  s32 shifted_zero_b_;
  EpilogueArgs epilogue_;
  ConvChunks chunks_;
  s64 padded_n_;
  AlignedVector<s32> bias_;        // padded
  AlignedVector<f32> multiplier_;  // padded
  bool vectors_;                   // AVX-512 packs and sums up
  s64 weights_bytes_;
  s64 thread_bytes_;
};

}  // namespace octet
