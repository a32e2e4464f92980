// SPDX-License-Identifier: Apache-2.0
// The lowerings of the CPU, for its device.
#pragma once

#include "plan/backend.h"

namespace octet {

const Backend& cpu_backend();

}  // namespace octet
