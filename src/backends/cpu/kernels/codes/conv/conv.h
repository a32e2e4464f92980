// SPDX-License-Identifier: Apache-2.0
// Dense and grouped 2-D convolution of u8 by s8, channels last; a matrix product by constant weights is its 1x1 case.
// The table lists the kernels; DenseConv drives one of them, on weights that were packed for it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/kernels/codes/conv/conv_args.h"
#include "backends/cpu/kernels/codes/conv/conv_pack.h"
#include "backends/cpu/kernels/codes/conv/conv_problem.h"
#include "backends/cpu/kernels/codes/kernel_row.h"
#include "backends/cpu/kernels/codes/padded_rows.h"
#include "core/thread_pool.h"
#include "ops/shared/conv.h"
#include "plan/offer.h"

namespace octet {

struct ConvKernel {
  const char* name;
  Isa isa;
  s64 pixels;  // rows of the register tile
  s64 channels;  // columns: channels of a packed block, the last one narrowed to a multiple of kConvLanes
  s64 pack_group;  // consecutive input bytes of one channel: [chunks * 4 / group, rounded up][channels][group]
  s64 weight_bytes;    // of one packed weight: 1 is s8, 2 is s16
  bool copies;         // needs scratch for the activations of a tile
  f64 macs_per_cycle;  // of the inner loop, for the estimated cost
  f64 pixel_cycles;    // likewise, around it, of a pixel and group
  void (*run)(const ConvTile&);
  bool pairs = false;  // weights sorted by pairing, see conv_pairs.h
  // Codes less this are what it multiplies; the bias that it gets has the weights' sums times this.
  s32 shift = 0;
};

// Bytes of a window of so many chunks as the kernel's weights have them.
constexpr s64 packed_depth(const ConvKernel& kernel, s64 chunks) {
  return (chunks * kConvChunk + kernel.pack_group - 1) / kernel.pack_group * kernel.pack_group;
}

// Best first; for any weights.
inline constexpr ConvKernel kConvKernels[] = {
    {"conv_u8s8_6x64_vnni", Isa::vnni, 6, 64, 4, 1, false, 112, 5, conv_u8s8_6x64_vnni},
    {"conv_u8s8_6x16_avxvnni", Isa::avx_vnni, 6, 16, 4, 1, false, 80, 8, conv_u8s8_6x16_avxvnni},
    {"conv_u8s8_6x16_avx2", Isa::avx2, 6, 16, 2, 2, true, 23, 15, conv_u8s8_6x16_avx2},
    {"conv_u8s8_6x16_i8mm", Isa::i8mm, 6, 16, 8, 1, true, 48, 10, conv_u8s8_6x16_i8mm},
    {"conv_u8s8_6x16_dotprod", Isa::dotprod, 6, 16, 4, 1, true, 26, 10, conv_u8s8_6x16_dotprod,
     false, 128},
    {"conv_u8s8_6x16_neon", Isa::neon, 6, 16, 1, 2, true, 3.5, 10, conv_u8s8_6x16_neon},
    {"conv_u8s8_1x16_plain", Isa::none, 1, 16, 4, 1, false, 1, 10, conv_u8s8_1x16_plain},
};

// Best first; for weights that are known when they are packed.
inline constexpr ConvKernel kConstantConvKernels[] = {
    kConvKernels[0],
    kConvKernels[1],
    {"conv_u8s8_6x16_pairs_avx2", Isa::avx2, 6, 16, 4, 1, true, 60, 10, conv_u8s8_6x16_pairs_avx2,
     true},
    kConvKernels[3],
    kConvKernels[4],
    kConvKernels[5],
    kConvKernels[6],
};
static_assert(kConvKernels[6].isa == Isa::none);  // all rows are there

struct ConvSpec : ConvProblem {
  ConvWeights weights;
  std::span<const s32> bias;        // one for each output channel, or empty
  std::span<const f32> multiplier;  // one for each output channel, or one for all
  s32 input_zero_point = 0;
  int threads = 1;

  ConvConstants constants() const { return {weights, bias, multiplier, input_zero_point}; }
};

// Why DenseConv cannot serve this geometry, or null.
const char* conv_reject(const ConvGeometry& geometry);
// The part of it that products of matrices share: places in a prepared row (ConvPairRows) are counted in 32 bits.
const char* conv_depth_reject(const ConvGeometry& geometry);
s64 conv_workspace_bytes(const ConvKernel& kernel, const ConvGeometry& geometry, int threads);

class DenseConv {
 public:
  using Packed = PackedConv;
  // Depends on the spec's constants and on what the key tells, which is little of where values lie: one pack serves most sizes.
  static Packed pack(const ConvKernel& kernel, const ConvSpec& spec);
  static std::string pack_key(const ConvKernel& kernel, const ConvSpec& spec);

  DenseConv(const ConvKernel& kernel, const ConvSpec& spec, std::shared_ptr<const Packed> packed);

  using Call = ConvCall;
  void run(const Call& call) const noexcept;

 private:
  struct Part;    // a range of pixels and channel blocks of one thread
  struct Source;  // where the pixels' windows lie
  void run_part(const Call& call, const Part& part) const noexcept;
  void run_copied(const Call& call, const Part& part) const noexcept;
  void run_pixels(const Call& call, const Part& part, const Source& source) const noexcept;
  void run_tile(ConvTile& tile, s64 first_block, s64 last_block) const noexcept;

  const ConvKernel& kernel_;
  ConvProblem conv_;
  bool copy_;         // the border is missing: rows are copied into a padded buffer first
  s64 thread_bytes_;  // of workspace
  u8 padding_;
  bool bounded_;              // see ConvTile
  bool plain_;                // see ConvTile, but for the residual
  std::vector<s64> offsets_;  // [groups][chunks], from a window to its chunks
  std::shared_ptr<const Packed> packed_;
};

}  // namespace octet
