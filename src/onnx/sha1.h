// SPDX-License-Identifier: Apache-2.0
// ONNX names a weights file's content by its SHA-1: a guard against mix-ups, none against forgers.
#pragma once

#include <string>

namespace octet {

// Of all that an open file holds, in 40 small hexadecimal digits.
std::string sha1_of(int descriptor);

}  // namespace octet
