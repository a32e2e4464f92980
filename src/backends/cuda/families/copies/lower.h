// SPDX-License-Identifier: Apache-2.0
// Walks that copy, several in one launch.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/families/copies/spec.h"
#include "backends/cuda/lower/walk.h"

namespace octet::cuda {

struct CopyAxis {
  s64 size = 1, x = 0, y = 0;
};

// What the kernel knows of one, in units of `access` bytes.
struct UnitCopy {
  s64 access = 1;
  s64 inner = 1;                 // units that lie together
  s64 x = 0, y = 0;              // the first ones
  std::vector<CopyAxis> axes{};  // the others, fastest first

  s64 units() const;
};

// Null where the walk needs a launch of its own: tables of indices, neighbours that change places, more than three axes around the
// innermost one, offsets past 2^30.
std::optional<UnitCopy> unit_copy(const Walk& walk);

// All of one access, at most copies::kMostCopies.
Launch copies_launch(const CudaDevice& device, std::span<const UnitCopy> copies);

}  // namespace octet::cuda
