// SPDX-License-Identifier: Apache-2.0
#include "core/captured_child.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/check.h"
#include "core/spawned_child.h"

namespace octet {
namespace {

// A stream that never makes its writer wait, whoever holds it: its size is bounded by ChildLimits::file_bytes.
class StreamFile {
 public:
  StreamFile() : fd_(memfd_create("output", MFD_CLOEXEC)) {
    // Each of several writers behind what is there.
    if (fd_ < 0 || fcntl(fd_, F_SETFL, O_APPEND) != 0)
      fail(Error::Code::io, "no memory for what a program prints: {}", strerror(errno));
  }
  ~StreamFile() { close(fd_); }
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  int fd() const { return fd_; }
  std::string end(size_t most) const {
    struct stat info = {};
    if (fstat(fd_, &info) != 0) return {};
    const auto size = static_cast<size_t>(info.st_size);
    std::string text(std::min(size, most), '\0');
    const auto from = static_cast<off_t>(size - text.size());
    const ssize_t n = pread(fd_, text.data(), text.size(), from);
    text.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return text;
  }

 private:
  int fd_;
};

}  // namespace

CapturedChild run_captured(const std::vector<std::string>& words, const ChildLimits& limits,
                           size_t most_bytes, const std::function<bool()>& stop) {
  const StreamFile out, errors;
  SpawnedChild child(words, {-1, out.fd(), errors.fd()}, limits);
  const ChildOutcome outcome = child.wait(stop);
  return {outcome, out.end(most_bytes), errors.end(most_bytes)};
}

}  // namespace octet
