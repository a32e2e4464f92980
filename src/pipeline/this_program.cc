// SPDX-License-Identifier: Apache-2.0
// The build alone knows these; src/CMakeLists.txt defines them for this file.
#include "octet/provenance.h"

namespace octet {

std::string_view octet_version() { return OCTET_VERSION; }
std::string_view octet_compiler() { return OCTET_COMPILER; }

}  // namespace octet
