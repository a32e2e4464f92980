// SPDX-License-Identifier: Apache-2.0
// Sizes of a plugin's results that its size tensors tell (IExprBuilder::declareSizeTensor).
#pragma once

#include <vector>

#include "octet/plugin.h"
#include "tensorrt/plugins/live.h"

namespace octet_trt {

// Of a call with shape inputs behind the others; their numbers are there.
SizeSources size_sources(const octet_plugin_call& call, int32_t shapes);
// In the shape rule: these are what outputs tell.
void open_sizes(octet_plugin_call& call, const ToldSizes& told);
// After a run on the host: what follows from what it has written into the size tensors.
void tell_sizes(octet_plugin_call& call, const LivePlugin& plugin);

}  // namespace octet_trt
