// SPDX-License-Identifier: Apache-2.0
// Reading data files whole or in pieces, and writing results so that a crash never leaves half a file.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/types.h"

namespace octet {

// A regular file open for reading. Directories, FIFOs and devices are refused without blocking on them.
class File {
 public:
  explicit File(const std::filesystem::path& path);
  // One that is open; a `descriptor` of nothing is an error with the last errno.
  File(std::string name, Descriptor descriptor);

  const std::string& name() const { return name_; }
  u64 size() const { return size_; }
  const Descriptor& descriptor() const { return fd_; }
  // Fills `dst` completely or throws Error(io). Safe from several threads.
  void read_at(u64 offset, std::span<u8> dst) const;

 private:
  std::string name_;
  Descriptor fd_;
  u64 size_ = 0;
};

// The whole file; Error(invalid_argument) when it is larger than `limit`.
std::vector<u8> read_file(const File& file, u64 limit);
std::vector<u8> read_file(const std::filesystem::path& path, u64 limit);

// Writes beside output_target(path) under a temporary name; commit() syncs and renames. A file that is replaced keeps its permissions.
// Without commit() nothing remains; what a killed process left is removed by the next that writes the same file.
class AtomicFile {
 public:
  // `mode`: of a file that is new, less what the process masks.
  explicit AtomicFile(const std::filesystem::path& path, mode_t mode = 0666);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const u8> bytes);
  u64 written() const { return written_; }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Descriptor fd_;
  u64 written_ = 0;
};

}  // namespace octet
