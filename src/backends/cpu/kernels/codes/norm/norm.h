// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization of u8 codes, channels last: exact sums of each channel, then a line for each channel.
#pragma once

#include "backends/cpu/kernels/codes/kernel_row.h"
#include "backends/cpu/kernels/codes/norm/norm_args.h"
#include "octet/tensor.h"
#include "ops/shared/instance_norm.h"
#include "plan/offer.h"

namespace octet {

struct NormKernel {
  const char* name;
  Isa isa;
  void (*sums)(const CodeSumsArgs&);
  void (*lines)(const CodeLinesArgs&);
};

// Best first.
inline constexpr NormKernel kInstanceNormKernels[] = {
    {"instance_norm_u8_vnni", Isa::vnni, code_sums_vnni, code_lines_vnni},
    {"instance_norm_u8_avx2", Isa::avx2, code_sums_avx2, code_lines_avx2},
    {"instance_norm_u8_neon", Isa::neon, code_sums_neon, code_lines_neon},
    {"instance_norm_u8_plain", Isa::none, code_sums_plain, code_lines_plain},
};

struct NormSpec {
  s64 batch = 1, channels = 1, rows = 1, columns = 1;
  int threads = 1;
  InstanceNorm norm;
  Tensor scale, bias;  // f32, one for each channel
  EpilogueArgs epilogue;
  Placement input, output;
};

class Norm {
 public:
  Norm(const NormKernel& kernel, NormSpec spec);
  // Enough however the values lie.
  static s64 workspace_bytes(s64 channels, int threads);
  void run(const u8* x, u8* y, const StepArgs& step) const noexcept;

 private:
  template <class Body>
  void for_each_run(s64 begin, s64 end, const Body& body) const noexcept;
  void add_run(const u8* src, s64 pixels, s64* sums) const noexcept;
  void write_run(const u8* src, u8* dst, s64 pixels, const f32* lines) const noexcept;
  void find_lines(const s64* sums, f32* lines) const noexcept;

  const NormKernel& kernel_;
  NormSpec spec_;
  bool flat_;   // rows follow each other without a gap
  s64 group_;   // pixels taken as one of more channels, so that few channels fill a register
  s64 wide_;    // channels of a group
  s64 padded_;  // the same up to a multiple of 64
};

}  // namespace octet
