// SPDX-License-Identifier: Apache-2.0
// 3x3 depthwise convolution of u8 by s8 over rows of bytes: what most depthwise layers are. Any number of channels fills
// the registers, because a register may hold parts of several pixels.
#pragma once

#include <memory>
#include <string>

#include "backends/cpu/kernels/codes/depthwise/depthwise.h"
#include "backends/cpu/kernels/codes/depthwise/flat_args.h"

namespace octet {

struct FlatDepthwiseKernel {
  const char* name;
  Isa isa;
  f64 mac_cycles;  // of a multiplication, for the estimated cost
  void (*run)(const FlatColumn&);
};

inline constexpr FlatDepthwiseKernel kFlatDepthwiseKernels[] = {
    {"depthwise_u8s8_3x3_vnni", Isa::vnni, 0.05, depthwise_u8s8_3x3_vnni},
    {"depthwise_u8s8_3x3_avxvnni", Isa::avx_vnni, 0.08, depthwise_u8s8_3x3_avxvnni},
    {"depthwise_u8s8_3x3_avx2", Isa::avx2, 0.11, depthwise_u8s8_3x3_avx2},
};

// Why FlatDepthwise cannot serve this geometry, or null.
const char* flat_depthwise_reject(const ConvGeometry& geometry, const EpilogueArgs& epilogue,
                                  Isa isa);
// Whether neighbouring pixels are adjacent in memory, which the geometry alone does not tell.
bool flat_depthwise_fits(const DepthwiseSpec& spec);

class FlatDepthwise {
 public:
  // By the first channel of a register, of all channels with which one can begin.
  using Packed = AlignedVector<FlatConstants>;
  // One order for all kernels.
  static Packed pack(const FlatDepthwiseKernel&, const DepthwiseSpec& spec);
  static std::string pack_key(const FlatDepthwiseKernel&, const DepthwiseSpec& spec);

  FlatDepthwise(const FlatDepthwiseKernel& kernel, const DepthwiseSpec& spec,
                std::shared_ptr<const Packed> packed);

  using Call = ConvCall;
  void run(const Call& call) const noexcept;

 private:
  struct Band;
  void run_rows(const Call& call, s64 first, s64 last, int thread) const noexcept;
  void run_band(const Call& call, const Band& band) const noexcept;

  const FlatDepthwiseKernel& kernel_;
  ConvProblem conv_;
  bool copy_;
  bool bounded_;
  bool wide_;
  u8 padding_;
  s64 phase_step_;  // channels from one entry of packed_ to the next
  std::shared_ptr<const Packed> packed_;
};

}  // namespace octet
