// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "NvInfer.h"

namespace octet_trt {

// Of the process. It is there before main and needs no logger.
nvinfer1::IPluginRegistry& registry();

}  // namespace octet_trt
