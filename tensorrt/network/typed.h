// SPDX-License-Identifier: Apache-2.0
// Types of a strongly typed network: they follow from its inputs, weights and conversions. The model in memory computes all reals in f32, which any
// kernel here is written for, so 16-bit types are carried beside it: programs ask for them, and the builder has the layers compute in them.
#pragma once

#include "tensorrt/network/layer.h"

namespace octet_trt {

// Of the layer's outputs, when its inputs' are known.
void carry_types(LayerCore& layer);

}  // namespace octet_trt
