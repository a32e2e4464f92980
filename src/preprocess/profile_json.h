// SPDX-License-Identifier: Apache-2.0
// What calibration saw of inputs, as engines and caches keep it. Untrusted: every field is checked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "octet/input_profile.h"

namespace octet {

nlohmann::ordered_json profiles_json(const std::vector<InputProfile>& profiles);
// Throws Error(invalid_argument) naming `file`.
std::vector<InputProfile> profiles_from_json(const nlohmann::ordered_json& list,
                                             const std::string& file);

// None where one of them holds what cannot be kept: values that are not finite.
std::vector<InputProfile> fit_to_keep(std::vector<InputProfile> profiles);

}  // namespace octet
