// SPDX-License-Identifier: Apache-2.0
#include "octet/line_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/descriptor.h"

namespace octet {
namespace {

constexpr mode_t kNewFile = 0666;  // less what the process masks

bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::string beginning(int fd, size_t bytes) {
  std::string text(bytes, '\0');
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd, text.data() + done, bytes - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

}  // namespace

LineLog::LineLog(const std::filesystem::path& path, std::string_view header) {
  const std::string name = path.string(), first = std::string(header) + '\n';
  const auto refused = [&] { fail(Error::Code::io, "'{}': {}", name, std::strerror(errno)); };
  Descriptor file = open_file(path, O_RDWR | O_APPEND | O_CREAT, kNewFile);
  struct stat facts {};
  // Sockets and folders are there, and cannot be opened so.
  const bool there = !file && (errno == ENXIO || errno == EISDIR);
  const bool known =
      file ? ::fstat(file.get(), &facts) == 0 : there && ::stat(name.c_str(), &facts) == 0;
  if (!known) refused();
  if (!S_ISREG(facts.st_mode)) {
    fail(Error::Code::io, "'{}' is {}; lines are added to a regular file", name,
         special_kind(facts.st_mode));
  }
  const std::string begins = beginning(file.get(), first.size());
  if (begins.empty()) {
    if (!write_all(file.get(), first)) refused();
  } else if (begins != first) {
    fail(Error::Code::invalid_argument, "'{}' exists and is no log of Octet's", name);
  }
  fd_ = file.release();
}

LineLog::~LineLog() { ::close(fd_); }

bool LineLog::add(std::string_view line) noexcept {
  // One call, so that lines of several processes do not mix.
  try {
    return write_all(fd_, std::string(line) + '\n');
  } catch (...) {
    return false;
  }
}

}  // namespace octet
