// SPDX-License-Identifier: Apache-2.0
// Zip archives of stored entries. The same entries give the same bytes.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/file.h"

namespace octet {

// Atomic: nothing is there before commit(). Throws Error(unsupported) past 4 GiB or 65534 entries.
class ZipWriter {
 public:
  explicit ZipWriter(const std::filesystem::path& path) : path_(path), file_(path) {}

  // The pieces follow each other. Throws Error(invalid_argument) for a name that is empty, too long, or there before.
  void add(const std::string& name, std::initializer_list<std::span<const u8>> pieces);
  void commit();

 private:
  struct Entry {
    std::string name;
    u32 crc = 0;
    u32 bytes = 0;
    u32 offset = 0;
  };

  static void append_common(std::vector<u8>& bytes, const Entry& entry);
  u32 fit32(u64 value) const;
  void check_name(const std::string& name);

  std::filesystem::path path_;
  AtomicFile file_;
  std::vector<Entry> entries_;
  std::set<std::string> names_;
};

}  // namespace octet
