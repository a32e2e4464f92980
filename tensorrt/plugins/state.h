// SPDX-License-Identifier: Apache-2.0
// What a plugin writes of itself, held to the size that it says.
#pragma once

#include <functional>
#include <string>

#include "tensorrt/plugins/object.h"

namespace octet_trt {

// More is no state of a plugin.
inline constexpr size_t kMaxPluginBytes = size_t{1} << 30;

// Throws octet::Error for a plugin that writes beyond `size`; what it leaves out is zero.
std::string written_state(const PluginName& name, size_t size,
                          const std::function<void(void*)>& serialize);

}  // namespace octet_trt
