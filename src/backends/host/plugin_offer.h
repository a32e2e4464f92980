// SPDX-License-Identifier: Apache-2.0
// A plugin's combinations as offers: those that mean what the node means compete with their layouts and costs.
#pragma once

#include "plan/backend.h"

namespace octet {

// By the names of the combinations, in the order of the declaration.
PluginOffers offer_plugin_on_host(const LowerRequest& asked);

}  // namespace octet
