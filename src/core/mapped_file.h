// SPDX-License-Identifier: Apache-2.0
// Files as they lie in the system's cache, which reads them ahead: no copy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "core/types.h"

namespace octet {

// All of a regular file, and a page of zeros behind it. Whoever writes into the file meanwhile writes into this, and who cuts it short ends the
// process with SIGBUS; another file that takes its name changes nothing.
struct MappedFile {
  std::shared_ptr<const std::byte> bytes;
  u64 size = 0;

  // Throws Error(io).
  explicit MappedFile(const std::filesystem::path& path);
};

}  // namespace octet
