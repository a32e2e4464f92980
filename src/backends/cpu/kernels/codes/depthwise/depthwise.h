// SPDX-License-Identifier: Apache-2.0
// Depthwise 2-D convolution of u8 by s8, channels last, any kernel size.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "backends/cpu/kernels/codes/aligned.h"
#include "backends/cpu/kernels/codes/conv/conv_problem.h"
#include "backends/cpu/kernels/codes/depthwise/depthwise_args.h"
#include "backends/cpu/kernels/codes/kernel_row.h"
#include "backends/cpu/kernels/codes/padded_rows.h"
#include "core/thread_pool.h"
#include "ops/shared/conv.h"

namespace octet {

// Order of channels within a block, as the kernel's registers hold them after unpacking.
struct LaneOrder {
  s64 lanes;      // 128-bit lanes of a register
  s64 registers;  // accumulators of a block; channels of a block = lanes * registers * 4
  s64 channels() const { return lanes * registers * 4; }
  // Channel at position i of the block's packed bias: [register][lane][4].
  s64 channel(s64 i) const { return i / 4 % lanes * registers * 4 + i / (4 * lanes) * 4 + i % 4; }
};

struct DepthwiseKernel {
  const char* name;
  Isa isa;
  LaneOrder order;
  // Weights: [blocks][parts][tap groups][taps of a row, if vertical][positions of the block][group]: s8, in two parts where they
  // are wide, or s16.
  s64 group;         // taps that one multiply-add instruction sums
  bool vertical;     // a group holds taps of one column (else taps in row-major order)
  s64 weight_bytes;  // 1 is s8, 2 is s16
  bool interleaves;  // needs scratch: a block of at most 64 channels x group of each column
  f64 block_cycles;  // of a pixel, a tap and a whole block of channels, for the estimated cost
  f64 rest_blocks;   // as many blocks cost the channels that fill none
  void (*run)(const DepthwiseRow&);
  s32 shift =
      0;  // codes less this are what it multiplies; the bias that it gets has the weights' sums times this
};

// Best first.
inline constexpr DepthwiseKernel kDepthwiseKernels[] = {
    {"depthwise_u8s8_64_vnni", Isa::vnni, {4, 4}, 4, true, 1, true, 5, 1, depthwise_u8s8_64_vnni},
    {"depthwise_u8s8_16_avx2", Isa::avx2, {2, 2}, 2, false, 2, false, 5, 6, depthwise_u8s8_16_avx2},
    {"depthwise_u8s8_16_dotprod",
     Isa::dotprod,
     {1, 4},
     4,
     true,
     1,
     true,
     2,
     2,
     depthwise_u8s8_16_dotprod,
     128},
    {"depthwise_u8s8_16_neon", Isa::neon, {1, 4}, 1, false, 2, false, 5, 2, depthwise_u8s8_16_neon},
    {"depthwise_u8s8_plain", Isa::none, {1, 1}, 1, false, 2, false, 12, 1, depthwise_u8s8_plain},
};

// [C, 1, KH, KW]: s8, or sums of two s8 as s16.
struct DepthwiseWeights {
  std::span<const s8> narrow;
  std::span<const s16> wide;  // empty: all are narrow

  s32 operator[](s64 i) const {
    const auto at = static_cast<size_t>(i);
    return wide.empty() ? narrow[at] : wide[at];
  }
  // A sum of s8 parts: part 1 is what part 0 leaves over.
  s64 parts() const { return wide.empty() ? 1 : 2; }
  s8 part(s64 i, s64 which) const {
    constexpr s32 kLowest = -128, kHighest = 127;
    const s32 first = std::clamp((*this)[i], kLowest, kHighest);
    return static_cast<s8>(which == 0 ? first : (*this)[i] - first);
  }
};

struct DepthwiseSpec : ConvProblem {
  DepthwiseWeights weights;
  std::span<const s32> bias;  // or empty
  std::span<const f32> multiplier;
  s32 input_zero_point = 0;
};

// "3x3 64 zero 128": what every packing depends on beside the constants themselves.
std::string depthwise_key(const DepthwiseSpec& spec);

// The bias of a channel less zero point * sum of its weights; wraps like the kernels' sums.
s32 depthwise_bias(const DepthwiseSpec& spec, s64 channel);

// Why DepthwiseConv cannot serve this geometry, or null.
const char* depthwise_reject(const ConvGeometry& geometry);
s64 depthwise_workspace_bytes(const DepthwiseKernel& kernel, const ConvGeometry& geometry,
                              int threads);

// In the order of a kernel's blocks.
struct PackedDepthwise {
  AlignedVector<u8> weights;
  AlignedVector<s32> bias;
  AlignedVector<f32> multiplier;
};

class DepthwiseConv {
 public:
  using Packed = PackedDepthwise;
  static Packed pack(const DepthwiseKernel& kernel, const DepthwiseSpec& spec);
  static std::string pack_key(const DepthwiseKernel& kernel, const DepthwiseSpec& spec);

  DepthwiseConv(const DepthwiseKernel& kernel, const DepthwiseSpec& spec,
                std::shared_ptr<const Packed> packed);

  using Call = ConvCall;
  void run(const Call& call) const noexcept;

 private:
  struct Band;
  void run_rows(const Call& call, s64 first, s64 last, int thread) const noexcept;
  void run_band(const Call& call, const Band& band) const noexcept;

  const DepthwiseKernel& kernel_;
  ConvProblem conv_;
  bool copy_;
  s64 parts_;
  s64 thread_bytes_;
  u8 padding_;
  std::shared_ptr<const Packed> packed_;
};

}  // namespace octet
