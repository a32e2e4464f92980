// SPDX-License-Identifier: Apache-2.0
// Attributes that stages of Octet give to nodes of any operator.
#pragma once

#include <optional>

#include "graph/attributes.h"

namespace octet {

// A layer whose result codes are made of, or that INT8 keeps in f32: a kernel that is only close to the definition does not do.
struct ExactAttributes {
  bool exact = false;

  OCTET_ATTRIBUTES(exact)
};

}  // namespace octet
