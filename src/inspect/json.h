// SPDX-License-Identifier: Apache-2.0
// The values whose texts octet/json.h gives.
#pragma once

#include <nlohmann/json.hpp>

#include "octet/json.h"

namespace octet {

nlohmann::ordered_json json_of(const Coverage& coverage);
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace octet
