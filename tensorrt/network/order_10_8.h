// SPDX-License-Identifier: Apache-2.0
// Networks for programs that were compiled with TensorRT 10.8. Their table has addCumulative where that of all other versions has getBuilder, which stands one
// place later there, as does all behind it.
#pragma once

#include "tensorrt/network/network.h"

#if NV_TENSORRT_MAJOR >= 10
namespace octet_trt {

inline bool has_order_10_8(int32_t client_version) { return client_version / 100 == 1008; }

// Gives the network, which nobody has seen yet, a table in that order.
void order_as_10_8(Network& network);

}  // namespace octet_trt
#endif
