// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace octet {

// The file that holds this code: the program, or the library or Python module that Octet is linked into. Empty where the system does not
// say.
std::string own_file();

}  // namespace octet
