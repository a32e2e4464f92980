// SPDX-License-Identifier: Apache-2.0
// The block "=== Device Information ===", as NVIDIA's trtexec prints it of a GPU. On a CPU its keys stay, and what the processor has in their places
// has the same form, so that tools read on.
#pragma once

#include "tensorrt/trtexec/options.h"

namespace octet::cli::trtexec {

void print_device(const Options& options);

}  // namespace octet::cli::trtexec
