// SPDX-License-Identifier: Apache-2.0
// A convolution of codes without its constants: what each of its kernels keeps of its spec, and what a run hands to it.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/thread_pool.h"
#include "ops/shared/conv.h"
#include "plan/offer.h"

namespace octet {

struct ConvProblem {
  ConvGeometry geometry;
  EpilogueArgs epilogue;  // its table must outlive the kernel's object
  Placement input;
  Placement output;
  Placement residual;
};

struct ConvCall {
  const u8* x;
  const u8* residual;  // or null
  u8* y;
  std::byte* workspace;
  ThreadPool& pool;
};

}  // namespace octet
