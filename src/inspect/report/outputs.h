// SPDX-License-Identifier: Apache-2.0
// Of the page: the outputs beside those of a reference, and where in them the errors lie.
#pragma once

#include <string>

#include "octet/report.h"

namespace octet {

// Empty where nothing was compared.
std::string outputs_section(const ReportInput& input);

}  // namespace octet
