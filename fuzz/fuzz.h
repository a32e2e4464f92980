// SPDX-License-Identifier: Apache-2.0
// What all fuzz targets share: their form, which outcomes are fine, and files that exist in memory alone.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/types.h"
#include "octet/error.h"

namespace octet::fuzz {

// What the fuzzer gives, as what a target reads.
struct Input {
  const u8* data;
  size_t size;

  std::span<const u8> octets() const { return {data, size}; }
  std::span<const std::byte> bytes() const { return std::as_bytes(octets()); }
  std::string_view text() const { return {reinterpret_cast<const char*>(data), size}; }
  // Behind the first byte, of which there must be one.
  Input rest() const { return {data + 1, size - 1}; }
};

// A target's file defines kTarget; fuzz/entry.cc gives it inputs.
struct Target {
  s64 memory;  // the limit
  void (*run)(const Input&);
};
extern const Target kTarget;

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

// read(kind, rest): the first byte chooses what reads the others.
template <class Read>
void survives_kind(const Input& input, const Read& read) {
  if (input.size != 0) survives([&] { read(input.data[0], input.rest()); });
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
