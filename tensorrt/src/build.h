// SPDX-License-Identifier: Apache-2.0
// From a network and its configuration to an engine.
#pragma once

#include "config.h"
#include "network.h"
#include "octet/engine.h"
#include "plan_info.h"

namespace octet_trt {

// Throws octet::Error.
octet::Engine build_engine(Network& network, Config& config, int threads, int32_t max_batch);

}  // namespace octet_trt
