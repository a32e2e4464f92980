// SPDX-License-Identifier: Apache-2.0
// The blocks "=== Model Options ===" to "=== Reporting Options ===".
#pragma once

#include "tensorrt/trtexec/options.h"

namespace octet::cli::trtexec {

void print_options(const Options& options);

}  // namespace octet::cli::trtexec
