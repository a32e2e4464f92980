// SPDX-License-Identifier: Apache-2.0
// Tables of segments for tests: functions of finer codes (core/fine_table.h).
#pragma once

#include <random>

#include "core/fine_table.h"
#include "octet/tensor.h"

namespace octet::test {

// Whether all codes lie between lo and hi, some are beyond them, or lines are as steep as they can be.
enum class Lines { within, beyond, steep };
inline constexpr Lines kEveryLines[] = {Lines::within, Lines::beyond, Lines::steep};

// Of codes between lo and hi.
inline Tensor random_lines(std::mt19937& random, Lines lines, s32 lo, s32 hi) {
  const auto any = [&](s32 least, s32 most) {
    return least + static_cast<s32>(random() % static_cast<u32>(most - least + 1));
  };
  Tensor table(Dtype::s32, {kFineSegments});
  const s32 beyond = lines == Lines::beyond ? 40 : 0;
  s32 at = 0;
  const auto next = [&] {
    return lines == Lines::steep ? any(-kFineBase, kFineBase)
                                 : any((lo - beyond) * kFineUnit, (hi + beyond) * kFineUnit);
  };
  at = next();
  for (s32& segment : table.mutable_as<s32>()) {
    const s32 to = next();
    segment = fine_segment(at, lines == Lines::steep ? any(-32768, 32767) : to - at);
    at = to;
  }
  return table;
}

}  // namespace octet::test
