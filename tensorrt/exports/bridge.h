// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "octet/tensorrt_bridge.h"

namespace octet_trt {

const octet_trt_bridge& bridge();

}  // namespace octet_trt
