// SPDX-License-Identifier: Apache-2.0
// Flags that take a share of a whole. With a percent sign it means the same everywhere: "90%". Without one the flags differ, and a number
// that looks like the other unit is an error that names both forms.
#pragma once

#include <CLI/CLI.hpp>

namespace octet::cli {

// How a flag counts a share without a percent sign.
struct ShareUnit {
  double whole;      // 1 or 100
  double least = 0;  // in that unit
  double most = whole;
  bool points = false;  // differences of shares, which may well be below one of a hundred
};

inline constexpr ShareUnit kFraction = {.whole = 1};
inline constexpr ShareUnit kPercent = {.whole = 100};
inline constexpr ShareUnit kPoints = {.whole = 100, .least = -100, .points = true};

// For `check` of an option of doubles: rewrites "90%" to the number of the flag's unit, and refuses what is out of range, no number, or
// looks like the other unit.
CLI::Validator share_in(ShareUnit unit);

}  // namespace octet::cli
