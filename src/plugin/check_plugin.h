// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "octet/plugins.h"
#include "plugin/check_device.h"

namespace octet {

// As in octet/plugins.h, with the device that options name; null where they name none. It is opened in processes of its own alone.
PluginCheck check_plugin(const std::filesystem::path& library, const PluginCheckOptions& options,
                         const OpenCheckDevice& open_device);

}  // namespace octet
