// SPDX-License-Identifier: Apache-2.0
// The types that layers compute in: what flags allow, what layers ask for, and what a strongly typed network carries.
#pragma once

#include "octet/compile.h"
#include "tensorrt/builder/config.h"
#include "tensorrt/network/network.h"

namespace octet_trt {

// Without kOBEY_ or kPREFER_PRECISION_CONSTRAINTS types of layers are hints, and the build takes its own choice; those of a strongly typed network hold.
void choose_types(const Network& network, const Config& config, octet::PrecisionPlan& plan);

}  // namespace octet_trt
