// SPDX-License-Identifier: Apache-2.0
// The backends of this build, from backends.def.
#pragma once

#include <span>
#include <string_view>

#include "plan/backend.h"

namespace octet {

std::span<const Backend* const> all_backends();
const Backend& cpu_backend();

}  // namespace octet
