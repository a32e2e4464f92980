// SPDX-License-Identifier: Apache-2.0
// From a network and its configuration to an engine.
#pragma once

#include "octet/engine.h"
#include "tensorrt/builder/config.h"
#include "tensorrt/engine/plan_info.h"
#include "tensorrt/network/network.h"

namespace octet_trt {

// Throws octet::Error.
octet::Engine build_engine(Network& network, Config& config, int threads, int32_t max_batch);

}  // namespace octet_trt
