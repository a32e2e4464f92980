// SPDX-License-Identifier: Apache-2.0
// Batched product of two u8 activations (attention) on matrix tiles. Each thread packs the right operands of the batches
// that it works on; operands and result may be read and written through strides, which saves turning heads around.
#pragma once

#include "backends/cpu/kernels/codes/aligned.h"
#include "backends/cpu/kernels/codes/matmul/matmul.h"
#include "backends/cpu/kernels/codes/matmul/tile_matmul_args.h"

namespace octet {

struct TileProductKernel {
  const char* name;
  Isa isa;
  void (*pack)(const ProductPackJob&);
  void (*run)(const ProductJob&);
};

inline constexpr TileProductKernel kTileProductKernels[] = {
    {"matmul_u8u8_tiles_amx", Isa::amx, pack_product_vnni, matmul_u8u8_tiles_amx},
};

// Why tiles cannot serve this product, or null.
const char* tile_matmul_reject(const MatMulViews& views, Isa isa);

class TileMatmul {
 public:
  TileMatmul(const TileProductKernel& kernel, const MatmulSpec& spec);
  s64 workspace_bytes(int threads) const { return threads * thread_bytes_; }

  using Call = BatchedMatmul::Call;
  void run(const Call& call) const noexcept;

 private:
  const MatMulGeometry& geometry() const { return views_.geometry; }
  void run_tiles(const Call& call, s64 first, s64 last, int thread) const noexcept;

  const TileProductKernel& kernel_;
  MatMulViews views_;
  s32 zero_a_, zero_b_;
  EpilogueArgs epilogue_;
  bool bounded_;
  s64 rows_;                 // of a tile
  s64 tiles_;                // of rows, in each product
  AlignedVector<s32> bias_;  // in packed order, as are the multipliers
  AlignedVector<f32> multiplier_;
  s64 packed_bytes_;
  s64 column_bytes_;
  s64 thread_bytes_;
};

}  // namespace octet
