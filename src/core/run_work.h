// SPDX-License-Identifier: Apache-2.0
// What the scalar reference may compute in one run: a file of a kilobyte can ask for a determinant of a matrix that takes days, each
// step of it legal. Counted together over a run, for a loop repeats what is legal once.
#pragma once

#include <limits>
#include <string>

#include "core/types.h"

namespace octet {

// Counts from its beginning to its end, for everything that its thread runs; one inside of another joins it.
class RunWork {
 public:
  // `most`: a lower limit than the one in force, for what is run by the way; of the outermost.
  explicit RunWork(f64 most = std::numeric_limits<f64>::infinity());
  ~RunWork();
  RunWork(const RunWork&) = delete;
  RunWork& operator=(const RunWork&) = delete;

  // True while one lives on this thread.
  static bool is_counting();
  // As take(), for who finds the name only where it is needed: false where the limit would be passed.
  static bool try_take(f64 steps);
  static f64 taken();  // since the outermost began
  [[noreturn]] static void refuse(f64 steps, const std::string& what);
  // Before the steps are taken, as work_of() counts them. Throws Error(unsupported) naming `what` where the limit would be passed.
  static void take(f64 steps, const std::string& what);
  // Throws where the steps alone pass the limit.
  static void check(f64 steps, const std::string& what);
  // The same of what depends on constants alone, and so on the file and not on its user: a two-hundredth of the limit.
  static void check_constant(f64 steps, const std::string& what);
};

}  // namespace octet
