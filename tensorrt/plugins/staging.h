// SPDX-License-Identifier: Apache-2.0
// Calls of plugins that know pointers of a GPU alone, with tensors that lie on the host: while an engine is built, and where a step of
// theirs runs on the CPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorrt/plugins/live.h"

namespace octet_trt {

struct StagedCall {
  const PluginIo& io;
  const std::vector<void*>& data;  // of inputs, then of outputs
  std::vector<int64_t> bytes;      // of each
  int64_t workspace_bytes;
};

// Copies there and back; done when it returns. Throws octet::Error.
void enqueue_staged(LivePlugin& plugin, const StagedCall& call, bool as_serialized,
                    const std::string& device);

}  // namespace octet_trt
