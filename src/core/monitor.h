// SPDX-License-Identifier: Apache-2.0
// How the stages of a long call tell the caller where they are, and learn that they are to end.
#pragma once

#include <string_view>

#include "core/types.h"
#include "octet/progress.h"

namespace octet {

// Throws Error(cancelled) when the caller wants an end. From the thread of the call alone.
void report_progress(const Monitor& monitor, std::string_view stage, s64 done = 0, s64 total = 0);
// Looks at the stop token only; from any thread.
void check_stop(const Monitor& monitor);

}  // namespace octet
