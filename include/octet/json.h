// SPDX-License-Identifier: Apache-2.0
// Inspections and comparisons as JSON: a stable interface for scripts and other languages. Each is the text of one value, in UTF-8:
// bytes of names that are not become U+FFFD. docs/cli.md lists the keys.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "octet/check.h"
#include "octet/error.h"
#include "octet/inspect.h"
#include "octet/operators.h"
#include "octet/output_comparison.h"

namespace octet {

// {"layers": [{"name", "op", "precision", "kernel", "reason", "nodes", ...}], "coverage": {"layers", "macs", ...}}
std::string to_json(const Inspection& inspection);
std::string to_json(const Coverage& coverage);
std::string to_json(const ModelCheck& check);
// Arrays. Equal tensors have "sqnr_db": null and "exact": true.
std::string to_json(std::span<const ValueError> errors);
std::string to_json(std::span<const OpSupport> table);
// The word for it in JSON and in other languages, which stays: "invalid_model".
std::string_view code_name(Error::Code code);
// One object; errors that are not finite are null. Without its map.
std::string to_json(const OutputComparison& output);

}  // namespace octet
