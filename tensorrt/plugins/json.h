// SPDX-License-Identifier: Apache-2.0
// The plugins of a plan in its JSON; the states, which are bytes of any kind, lie beside it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tensorrt/plugins/live.h"

namespace octet_trt {

nlohmann::json to_json(const PluginRecord& record);
// Without the state, of which the JSON tells the size. Throws nlohmann's exceptions and octet::Error.
PluginRecord plugin_from(const nlohmann::json& value);
size_t state_bytes(const nlohmann::json& value);

}  // namespace octet_trt
