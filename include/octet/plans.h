// SPDX-License-Identifier: Apache-2.0
// Whether a context still makes plans: a service that prepared all of its shapes makes none while it serves.
#pragma once

#include <cstdint>

#include "octet/engine.h"

namespace octet {

// So many plans a context keeps; the least recently used one makes room for another.
inline constexpr int kPlansOfContext = 8;

// How many plans the context has made so far, with the kernels that they compile: by prepare(), and by runs over shapes (or the caller's
// memory) that it had no plan for. Bodies of control flow are not counted.
int64_t plans_made(const Context& context);

}  // namespace octet
