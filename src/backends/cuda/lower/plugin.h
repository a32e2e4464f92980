// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/backend.h"

namespace octet::cuda {

PluginOffers offer_plugin_on_device(const LowerRequest& asked);
bool run_sized_plugin(const Eval& eval, Queue& queue);  // Backend::sized_plugin

}  // namespace octet::cuda
