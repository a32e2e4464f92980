// SPDX-License-Identifier: Apache-2.0
// What a page says above the layers: the types side by side, and what to do next.
#pragma once

#include <span>
#include <string>

#include "octet/report.h"

namespace octet {

// Empty without stages.
std::string stages_section(std::span<const StageRow> stages);
// Layers that cost most and could be faster or nearer, with the remedy of their reason.
std::string advice_section(const ReportInput& input);

}  // namespace octet
