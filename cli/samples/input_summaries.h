// SPDX-License-Identifier: Apache-2.0
// What the data of a build looked like, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "octet/data.h"

namespace octet::cli {

// "-2.12 to 2.64, mean 0.01 -0.02 0.1, deviation 1.1 1.2 1": of each channel of an image.
std::string summary_text(const InputSummary& summary);
nlohmann::ordered_json summary_json(const InputSummary& summary);

}  // namespace octet::cli
