// SPDX-License-Identifier: Apache-2.0
// The values whose texts octet/json.h gives.
#pragma once

#include <nlohmann/json.hpp>

#include "octet/json.h"

namespace octet {

nlohmann::ordered_json json_of(const Coverage& coverage);
nlohmann::ordered_json json_of(std::span<const NodePrecision> nodes);
nlohmann::ordered_json constraints_json(const Inspection& inspection);
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace octet
