// SPDX-License-Identifier: Apache-2.0
// All architectures, in the order of their numbers: the files of this folder, and the rows of architectures.def.
#pragma once

#include "backends/cuda/arch/architecture.h"
#include "backends/cuda/arch/sm100.h"
#include "backends/cuda/arch/sm120.h"
#include "backends/cuda/arch/sm75.h"
#include "backends/cuda/arch/sm80.h"
#include "backends/cuda/arch/sm86.h"
#include "backends/cuda/arch/sm90.h"

namespace octet::cuda {

inline constexpr const Architecture* kArchitectures[] = {
#define ARCHITECTURE(id, object) &object,
#include "backends/cuda/arch/architectures.def"
#undef ARCHITECTURE
};

}  // namespace octet::cuda
