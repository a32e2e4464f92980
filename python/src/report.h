// SPDX-License-Identifier: Apache-2.0
// What a build tells, as a dict.
#pragma once

#include "module.h"
#include "octet/compile.h"

namespace octet::python {

nb::dict report_dict(const CompileReport& report);

}  // namespace octet::python
