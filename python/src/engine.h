// SPDX-License-Identifier: Apache-2.0
// octet.Engine: an engine, and what is known of its build in this process.
#pragma once

#include <memory>
#include <string>

#include "octet/compile.h"
#include "octet/engine.h"

namespace octet::python {

struct PyEngine {
  Engine engine;
  std::shared_ptr<const CompileReport> report = nullptr;  // null where it was loaded
};

}  // namespace octet::python
