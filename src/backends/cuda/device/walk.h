// SPDX-License-Identifier: Apache-2.0
// Steps that go once over the elements of their output: what the families that do so have in common.
#pragma once

#include "backends/cuda/device/element_type.h"

namespace octet::cuda {

constexpr s32 kMostWalkAxes = 16;  // of a Tile of as many axes as a tensor may have

struct WalkParams {
  const void* a;
  const void* b;
  const void* c;
  const s32* maps;  // of axes with tables
  const u8* table;  // of codes
  void* out;
};

}  // namespace octet::cuda
