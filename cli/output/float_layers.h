// SPDX-License-Identifier: Apache-2.0
// The layers that are not INT8: their share of the time where it was measured, why, and what helps.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "octet/inspect.h"

namespace octet::cli {

// A table of so many, with their share of the time where that was measured; `others` says what shows the rest. Nothing where every layer
// is INT8.
void print_float_layers(const Inspection& inspection, size_t most, std::string_view others);
// float_layers[] of docs/constraints.md.
nlohmann::ordered_json float_layers_json(const Inspection& inspection);

}  // namespace octet::cli
