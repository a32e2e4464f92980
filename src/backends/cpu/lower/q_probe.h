// SPDX-License-Identifier: Apache-2.0
// For tests of integer lowerings: the probe of probe.h in memory between guard pages, with channel slices, borders, and a
// check that nothing but the outputs' elements is written.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/lower/probe.h"

namespace octet {

using LowerFunction = Offer (*)(const LowerRequest&);

struct Surroundings {
  s64 border = 0;         // around nhwc values of steps that are `strided`
  bool at_front = false;  // values start at a guard page; else they end at one
  size_t candidate = 0;   // where the lowering offers several
};

ProbeResult run_guarded(const Probe& probe, LowerFunction lowering, const Surroundings& around);

// Every instruction set, every candidate, 1 to 3 threads, dense and sliced values, with and without borders: the outputs equal the
// reference's to the bit, and the lowering accepts. Returns the kernels' names.
std::vector<std::string> expect_exact(Probe probe, LowerFunction lowering, const std::string& what);

// The same for lowerings that the reference serves where there is no vector unit.
void expect_exact_above_none(Probe probe, LowerFunction lowering, const std::string& what);

// All levels up to the machine's, none included.
std::vector<Isa> all_levels();

enum class Codes { any, extremes, highest };  // of u8: all; 0 and 255; 255
Tensor random_u8(const Shape& shape, u64 seed, Codes codes = Codes::any);
// -127 .. 127, or all 127 and -127.
Tensor random_s8(const Shape& shape, u64 seed, bool extremes = false);
Tensor random_s32(const Shape& shape, u64 seed, s32 size);
// Positive, within a factor of two of `size`.
Tensor random_multipliers(s64 count, u64 seed, f32 size);

ProbeInput activation(Tensor tensor, Layout layout = Layout::linear);
ProbeInput constant(Tensor tensor);
inline ProbeInput omitted() { return {}; }

}  // namespace octet
