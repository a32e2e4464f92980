// SPDX-License-Identifier: Apache-2.0
// Engines whose large weights stay in their file, for programs that start often.
#pragma once

#include <filesystem>

#include "octet/engine.h"

namespace octet {

// As Engine::load(), but large weights are not copied: the file is mapped into memory. While the engine or a context of it lives, nobody may write into
// the file or cut it short, which would change results or end the process; to replace it by another of its name, as Engine::save() does, is safe.
// Whatever tells places, sizes or types is copied before it is checked.
Engine map_engine(const std::filesystem::path& path);

}  // namespace octet
