// SPDX-License-Identifier: Apache-2.0
// What the extension of an output promises.
#pragma once

#include <filesystem>
#include <string>

#include "cli/output/outputs.h"

namespace octet::cli {

// Error(invalid_argument) for a name that promises another format than what is written: "-o scores.png" for arrays. A name without an
// extension promises nothing; of engines, caches and lists any extension that is no other format's will do.
void check_extension(const std::string& flag, const std::filesystem::path& path, OutputKind kind);

}  // namespace octet::cli
