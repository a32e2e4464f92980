// SPDX-License-Identifier: Apache-2.0
// The CPU's lowerings, each of whose steps runs in the queue of a test device.
#pragma once

#include "plan/backend.h"

namespace octet {

// `mixed`: it refuses some nodes, which the host runs.
const Backend& test_backend(bool mixed);

}  // namespace octet
