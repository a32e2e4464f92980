// SPDX-License-Identifier: Apache-2.0
// 3x3 convolution of u8 by s8 by Winograd's minimal filtering F(2x2, 3x3), to the bit: 16 products for what takes 36. In
// integers the transform of the weights is four times that of the books. Worth it on AVX2, where a product of words costs
// little more than one of bytes; with vpdpbusd, which does four products of bytes for one of words, it is not.
#pragma once

#include <memory>
#include <string>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/conv/winograd_args.h"

namespace octet {

struct WinogradKernel {
  const char* name;
  Isa isa;
  void (*input)(const WinogradInput&);
  void (*block)(const WinogradBlock&);
};

inline constexpr WinogradKernel kWinogradKernels[] = {
    {"conv_u8s8_winograd_avx2", Isa::avx2, winograd_input_avx2, winograd_block_avx2},
};

// Why WinogradConv cannot serve this geometry, or should not, or null.
const char* winograd_reject(const ConvGeometry& geometry, Isa isa);
// Whether the input has the border that patches reach into, which the geometry alone does not tell.
bool winograd_fits(const ConvSpec& spec);
s64 winograd_workspace_bytes(const ConvGeometry& geometry, int threads);
f64 winograd_cost(const ConvGeometry& geometry);

struct PackedWinograd {
  AlignedVector<s16> weights;  // [blocks of 16][patch][channels / 2][16][2]
  AlignedVector<s32> bias;
  AlignedVector<f32> multiplier;
};

class WinogradConv {
 public:
  using Packed = PackedWinograd;
  // One order for all kernels.
  static Packed pack(const WinogradKernel&, const ConvSpec& spec);
  static std::string pack_key(const WinogradKernel&, const ConvSpec& spec);

  WinogradConv(const WinogradKernel& kernel, const ConvSpec& spec,
               std::shared_ptr<const Packed> packed);

  using Call = ConvCall;
  void run(const Call& call) const noexcept;

 private:
  struct Group;  // tiles that are multiplied together
  void run_groups(const Call& call, s64 first, s64 last, int thread) const noexcept;
  void transform(const Call& call, const Group& group) const noexcept;
  void locate(const Call& call, const Group& group) const noexcept;

  const WinogradKernel& kernel_;
  ConvProblem conv_;
  s64 group_tiles_;
  bool bounded_;  // see ConvTile
  bool plain_;
  std::shared_ptr<const Packed> packed_;
};

}  // namespace octet
