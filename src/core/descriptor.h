// SPDX-License-Identifier: Apache-2.0
// Descriptors of open files.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <utility>

namespace octet {

// The same file under a number above 2, close-on-exec; -1 and errno where there is none, and for -1. A process that was started
// without standard output gives that number to the next file that it opens, and then prints into it.
int above_standard(int fd) noexcept;

// Closed with the object.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(above_standard(fd)) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // The caller closes it.
  int release() { return std::exchange(fd_, -1); }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

// open() that waits for nobody: neither for the other end of a FIFO nor for a line that a terminal waits for. Holds none, with errno set, where the
// system refuses.
Descriptor open_file(const std::filesystem::path& path, int flags, mode_t mode = 0) noexcept;

// "a folder", "a pipe"; empty for a regular file.
const char* special_kind(mode_t mode);

}  // namespace octet
