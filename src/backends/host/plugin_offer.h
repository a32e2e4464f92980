// SPDX-License-Identifier: Apache-2.0
// A plugin's combinations as offers: those that mean what the node means compete with their layouts and costs.
#pragma once

#include <memory>

#include "plan/backend.h"
#include "plugin/call.h"

namespace octet {

// How a backend calls plugins.
struct PluginCalls {
  u32 device;        // OCTET_DEVICE_...: whose pointers it gives
  bool turns_codes;  // PluginStep::run may touch tensors itself, to turn u8 to s8
  // Sets prepare and bind.
  void (*set_bind)(Candidate& candidate, const LowerRequest& asked,
                   const std::shared_ptr<const PluginStep>& step);
};

// By the names of the combinations, in the order of the declaration.
PluginOffers offer_plugins(const LowerRequest& asked, const PluginCalls& calls);
PluginOffers offer_plugin_on_host(const LowerRequest& asked);

}  // namespace octet
