// SPDX-License-Identifier: Apache-2.0
// Bytes that a program wants an engine file to carry for it. Octet does not look into them, and an engine runs the same with or without.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "octet/engine.h"

namespace octet {

// The engine with these bytes in place of what it carried; they are copied, and everything else is shared.
Engine with_attachment(const Engine& engine, std::span<const std::byte> bytes);
// What it carries; empty where that is nothing. Valid as long as the engine or a copy of it lives.
std::span<const std::byte> attachment(const Engine& engine);
// What an engine file in memory carries, for who needs it before the engine can be loaded: a file whose operators come from a plugin says
// there which. Throws Error(invalid_model) where the bytes are no engine.
std::vector<std::byte> attachment(std::span<const std::byte> engine_file);

}  // namespace octet
