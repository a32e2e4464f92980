// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_runtime_api.h"

// What a call gives back; an error is kept for cudaGetLastError.
cudaError_t done(cudaError_t error);
