// SPDX-License-Identifier: Apache-2.0
// What the program takes care of before anything else: what it was started with.
#pragma once

namespace octet::cli {

// Descriptors 0, 1 and 2 are open from here on: where the program was started without one, each use of it is an error, as without it,
// and no file that is opened later gets its number. Writing where nobody reads, or beyond a limit of sizes (ulimit -f), is an error of
// that call, and no signal ends the process in the middle of it.
void prepare_process() noexcept;
// The signals as they were before: right before this process becomes another program, which would keep what is ignored.
void restore_signals() noexcept;

}  // namespace octet::cli
