// SPDX-License-Identifier: Apache-2.0
// Reading data files whole or in pieces, and writing results so that a crash never leaves half a file.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"

namespace octet {

// A regular file open for reading. Directories, FIFOs and devices are refused without blocking on them.
class File {
 public:
  explicit File(const std::filesystem::path& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& name() const { return name_; }
  u64 size() const { return size_; }
  // Fills `dst` completely or throws Error(io). Safe from several threads.
  void read_at(u64 offset, std::span<u8> dst) const;

 private:
  std::string name_;
  int fd_ = -1;
  u64 size_ = 0;
};

// The whole file; Error(invalid_argument) when it is larger than `limit`.
std::vector<u8> read_file(const std::filesystem::path& path, u64 limit);

// Writes beside output_target(path) under a temporary name; commit() syncs and renames. A file that is replaced keeps its permissions.
// Without commit() nothing remains; what a killed process left is removed by the next that writes the same file.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const u8> bytes);
  u64 written() const { return written_; }
  void commit();

 private:
  std::filesystem::path path_;
  std::string temporary_;
  int fd_ = -1;
  u64 written_ = 0;
};

}  // namespace octet
