// SPDX-License-Identifier: Apache-2.0
// Of any processor: the scalar kernels run.
#include "arch/probe.h"

#include <sys/utsname.h>

namespace octet {

Isa probe_isa() { return Isa::none; }

std::string probe_identity() {
  utsname system = {};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace octet
