// SPDX-License-Identifier: Apache-2.0
// The JSON forms of inspections and comparisons: a stable interface for scripts.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "inspect/op_table.h"
#include "octet/check.h"
#include "octet/inspect.h"

namespace octet {

// {"layers": [{"name", "op", "precision", "kernel", "reason", "nodes", ...}], "coverage": {"layers", "macs", ...}}
nlohmann::ordered_json to_json(const Inspection& inspection);
nlohmann::ordered_json to_json(const Coverage& coverage);
nlohmann::ordered_json to_json(const ModelCheck& check);
nlohmann::ordered_json to_json(const std::vector<OpSupport>& table);
// Equal tensors have "sqnr_db": null and "exact": true.
nlohmann::ordered_json to_json(std::span<const ValueError> errors);
nlohmann::ordered_json sqnr_json(double sqnr_db);

}  // namespace octet
