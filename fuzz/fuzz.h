// SPDX-License-Identifier: Apache-2.0
// What all fuzz targets share: which outcomes are fine, small limits, and files that exist in memory alone.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include "core/types.h"
#include "octet/error.h"
#include "octet/limits.h"

namespace octet::fuzz {

inline void limit_memory(s64 bytes) {
  Limits limits;
  limits.memory = bytes;
  limits.loop_trips = 16;
  set_limits(limits);
}

[[noreturn]] inline void found(const char* what) {
  std::fprintf(stderr, "FOUND: %s\n", what);
  std::abort();
}

// An Error is a fine end, our own bug is not; any other exception ends the process by itself. Says whether it succeeded.
template <class Action>
bool survives(Action&& action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    if (error.code() == Error::Code::internal) found(error.what());
    return false;
  }
}

// A regular file in memory, rewritten for each input.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(::memfd_create(name, 0)) {
    if (fd_ < 0) found("no memfd");
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  void assign(std::span<const u8> bytes) {
    const bool cut = ::ftruncate(fd_, 0) == 0;
    const auto size = static_cast<ssize_t>(bytes.size());
    if (!cut || ::pwrite(fd_, bytes.data(), bytes.size(), 0) != size) found("no memory for a file");
  }

 private:
  int fd_;
};

}  // namespace octet::fuzz
