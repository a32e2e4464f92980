// SPDX-License-Identifier: Apache-2.0
// A kernel's function for each instruction set; kernel_for() (lower/f_common.h) picks the one that runs. Included by instruction-set files.
#pragma once

namespace octet {

template <class Args>
struct LevelFunctions {
  void (*avx2)(const Args* args);
  void (*vnni)(const Args* args);
  void (*neon)(const Args* args);
};

}  // namespace octet
