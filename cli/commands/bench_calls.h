// SPDX-License-Identifier: Apache-2.0
// What octet bench times: calls whose tensors lie in the host's memory, or in the device's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet::cli {

// One call of `give` runs the engine `runs` times, and returns when the last has ended.
struct BenchCalls {
  int64_t runs = 1;
  std::function<void()> give;
  std::function<std::vector<Tensor>()> outputs;  // of the last run, in the host's memory
};

// Both run first, which prepares everything: once, or once and one call. They refer to `context` and `inputs`.
BenchCalls calls_with_transfers(Context& context, const std::vector<Tensor>& inputs);
// Inputs and outputs stay in the device's memory, and runs are given one behind the other in CUDA's default stream: what a program measures
// whose data are on the device. Throws Error(unsupported) for a device that shares the host's memory.
BenchCalls calls_on_device(Context& context, const std::vector<Tensor>& inputs,
                           const std::string& device);

}  // namespace octet::cli
