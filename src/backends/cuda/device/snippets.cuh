// SPDX-License-Identifier: Apache-2.0
// What functions that nodes write into their kernels (KernelFunction) may name.
#pragma once

#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/functions.cuh"
#include "backends/cuda/device/integers.cuh"
#include "backends/cuda/device/math.cuh"
