// SPDX-License-Identifier: Apache-2.0
// The table of contents of a zip archive (the container of .npz), read under checks; zip64 included.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"

namespace octet {

struct ZipEntry {
  std::string name;
  bool deflated = false;  // else stored
  u32 crc = 0;
  u64 packed_bytes = 0;
  u64 bytes = 0;
  u64 data_offset = 0;
};

// In the archive's order. Throws for anything that is encrypted, compressed otherwise, duplicate, overlapping, outside the
// file, or claims a size that its compressed bytes cannot hold.
std::vector<ZipEntry> read_zip_directory(const File& file);

}  // namespace octet
