// SPDX-License-Identifier: Apache-2.0
// Names that come from files, made fit for messages and for the graph.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet {

// Throws Error(invalid_model) for a name longer than 64 KiB.
void check_name_length(std::string_view name);

// The name in single quotes with control bytes and malformed UTF-8 shown as \xNN, cut in the middle when long.
std::string quote_name(std::string_view name);

// The name itself when it is clean UTF-8 without control characters; else each offending byte becomes '?'.
std::string clean_name(std::string_view name);

// The candidate with the smallest edit distance to `name`, or empty when none is close.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace octet
