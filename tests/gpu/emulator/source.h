// SPDX-License-Identifier: Apache-2.0
// Turns a preprocessed CUDA source into C++ for the host.
#pragma once

#include <string>

namespace octet::emulator {

// `text` has been preprocessed without shim.h. What is missing for a compilation is added around it.
std::string host_source(std::string text);

}  // namespace octet::emulator
