// SPDX-License-Identifier: Apache-2.0
// What the program takes care of before anything else: what it was started with.
#pragma once

namespace octet::cli {

// Descriptors 0, 1 and 2 are open from here on: where the program was started without one, each use of it is an error, as without it,
// and no file that is opened later gets its number. Writing where nobody reads, or beyond a limit of sizes (ulimit -f), is an error of
// that call, and no signal ends the process in the middle of it.
void prepare_process() noexcept;

// Where nobody reads standard output any more (`error` is that of the write), the process ends as other programs do: quietly, by the signal
// that prepare_process() has it ignore.
void end_if_reader_left(int error) noexcept;

}  // namespace octet::cli
