// SPDX-License-Identifier: Apache-2.0
#include "backends/backends.h"
#include "backends/cpu/lower/convert.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/reference/reference.h"

namespace octet {

const Backend& cpu_backend() {
  static const Backend backend{.name = "cpu",
                               .lowerings = cpu_lowerings(),
                               .reference = reference_candidate,
                               .convert = cpu_convert,
                               .relabel_s8 = true};
  return backend;
}

}  // namespace octet
