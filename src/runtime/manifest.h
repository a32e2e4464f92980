// SPDX-License-Identifier: Apache-2.0
// The manifest section of an engine file: everything of a Model but its graph, as JSON with sorted keys.
#pragma once

#include <string>
#include <string_view>

#include "runtime/model.h"

namespace octet {

std::string write_manifest(const Model& model);
// Fills all members but the graph. Throws Error(invalid_model).
// Returns how many bytes are attached to the engine.
s64 read_manifest(std::string_view text, Model& model);
// The same number alone.
s64 attached_bytes(std::string_view text);

}  // namespace octet
