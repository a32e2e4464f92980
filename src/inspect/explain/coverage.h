// SPDX-License-Identifier: Apache-2.0
// Which part of a model runs in INT8, counted by layers and by multiply-accumulates.
#pragma once

#include <span>

#include "octet/inspect.h"

namespace octet {

Coverage coverage_of(std::span<const LayerInfo> layers);

}  // namespace octet
