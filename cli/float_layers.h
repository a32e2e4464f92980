// SPDX-License-Identifier: Apache-2.0
// The layers that are not INT8: their share of the time where it was measured, why, and what helps.
#pragma once

#include <nlohmann/json.hpp>

#include "octet/inspect.h"

namespace octet::cli {

// A table; nothing where every layer is INT8.
void print_float_layers(const Inspection& inspection);
// float_layers[] of docs/constraints.md.
nlohmann::ordered_json float_layers_json(const Inspection& inspection);

}  // namespace octet::cli
