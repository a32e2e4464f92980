// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/staging.h"

#include <algorithm>

#include "octet/device_memory.h"

namespace octet_trt {

void enqueue_staged(LivePlugin& plugin, const StagedCall& call, bool as_serialized,
                    const std::string& device) {
  const auto inputs = static_cast<size_t>(call.io.inputs);
  std::vector<std::shared_ptr<std::byte>> held;
  std::vector<void*> there;
  for (size_t i = 0; i < call.data.size(); ++i) {
    // An output that is written over an input lies where that lies.
    const auto before =
        std::find(call.data.begin(), call.data.begin() + static_cast<int64_t>(i), call.data[i]) -
        call.data.begin();
    held.push_back(static_cast<size_t>(before) < i ? held[static_cast<size_t>(before)]
                                                   : octet::allocate_on(device, call.bytes[i]));
    there.push_back(held.back().get());
    if (i < inputs) octet::copy_memory(there[i], call.data[i], call.bytes[i], device);
  }
  const auto workspace = octet::allocate_on(device, call.workspace_bytes);
  plugin.enqueue({call.io, there.data(), there.data() + inputs, workspace.get(), nullptr},
                 as_serialized);
  for (size_t i = inputs; i < call.data.size(); ++i)
    octet::copy_memory(call.data[i], there[i], call.bytes[i], device);
}

}  // namespace octet_trt
