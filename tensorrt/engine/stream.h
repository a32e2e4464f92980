// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime of the process, as far as a run meets it: found by name, since a client may bring ours, another, or none.
#pragma once

#include <functional>

#include "NvInfer.h"

namespace octet_trt {

// Does the work: at once, or with the graph that the stream is captured into, each time the graph is launched.
bool run_on(cudaStream_t stream, const std::function<bool()>& work);
void record(cudaEvent_t event, cudaStream_t stream);

}  // namespace octet_trt
