// SPDX-License-Identifier: Apache-2.0
#include "backends/backends.h"

namespace octet {

#define BACKEND(name) const Backend& name##_backend();
#include "backends/backends.def"
#undef BACKEND

std::span<const Backend* const> all_backends() {
  static const Backend* const table[] = {
#define BACKEND(name) &name##_backend(),
#include "backends/backends.def"
#undef BACKEND
  };
  return table;
}

}  // namespace octet
