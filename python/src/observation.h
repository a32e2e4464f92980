// SPDX-License-Identifier: Apache-2.0
// octet.Observation: what samples were seen to hold, in parts.
#pragma once

#include <memory>

#include "octet/observation.h"

namespace octet::python {

struct PyObservation {
  std::shared_ptr<Observation> seen = std::make_shared<Observation>();
};

}  // namespace octet::python
