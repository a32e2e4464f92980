// SPDX-License-Identifier: Apache-2.0
// For tests of the CUDA backend's lowerings: runs a probe (backends/cpu/lower/probe.h) on the device "cuda".
#pragma once

#include <string>

#include "backends/cpu/lower/q_probe.h"
#include "fine_lines.h"

namespace octet {

// Skips the test, with the reason, where there is no such device.
#define NEEDS_GPU() \
  if (const std::string& missing = missing_gpu(); !missing.empty()) GTEST_SKIP() << missing

const std::string& missing_gpu();  // empty where there is one

// Values of steps that are `strided` lie `probe.spread` elements apart, with borders of `border`.
ProbeResult run_on_gpu(const Probe& probe, LowerFunction lowering, s64 border = 0);

// The lowering accepts, and outputs are the reference's: to the bit, or (close) as expect_close_f32 has it.
void expect_exact_on_gpu(const Probe& probe, LowerFunction lowering, const std::string& what);
void expect_close_on_gpu(const Probe& probe, LowerFunction lowering, const std::string& what);

// The product's table is of lines, of u8 codes, and its sums reach over the finer codes.
Probe with_lines(Probe probe, test::Lines lines);

}  // namespace octet
