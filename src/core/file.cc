// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/check.h"

namespace octet {
namespace {

constexpr int kMaxTemporaryNames = 100;

[[noreturn]] void fail_errno(const std::string& name, const char* action) {
  const int error = errno;
  fail(Error::Code::io, "'{}': cannot {}: {}", name, action, std::strerror(error));
}

// The writer of a temporary file holds this lock; the system drops it when the writer dies.
bool lock_now(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

bool has_a_name(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 && facts.st_nlink > 0;
}

// "model.octet.1234-0.tmp" for "model.octet".
bool is_temporary_of(const std::string& name, const std::string& target) {
  constexpr std::string_view kSuffix = ".tmp";
  if (!name.starts_with(target + '.') || !name.ends_with(kSuffix)) return false;
  const size_t from = target.size() + 1;
  if (name.size() < from + kSuffix.size()) return false;
  const std::string numbers = name.substr(from, name.size() - from - kSuffix.size());
  return !numbers.empty() && numbers.find_first_not_of("0123456789-") == std::string::npos;
}

// What writers of this file left behind when they were killed. Whatever cannot be removed stays: it does no harm.
void remove_abandoned(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const std::string target = path.filename().string();
  std::vector<std::filesystem::path> found;
  for (auto at = std::filesystem::directory_iterator(folder, ignored);
       at != std::filesystem::directory_iterator(); at.increment(ignored)) {
    if (is_temporary_of(at->path().filename().string(), target)) found.push_back(at->path());
  }
  for (const std::filesystem::path& temporary : found) {
    const int fd = ::open(temporary.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (lock_now(fd)) ::unlink(temporary.c_str());
    ::close(fd);
  }
}

}  // namespace

File::File(const std::filesystem::path& path) : name_(path.string()) {
  // O_NONBLOCK: opening a FIFO for reading would otherwise wait for a writer.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail_errno(name_, "open");
  struct stat facts {};
  if (::fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(fd_);
    fail(Error::Code::io, "'{}' is not a regular file", name_);
  }
  size_ = static_cast<u64>(facts.st_size);
}

File::~File() { ::close(fd_); }

void File::read_at(u64 offset, std::span<u8> dst) const {
  size_t done = 0;
  while (done < dst.size()) {
    const ssize_t n =
        ::pread(fd_, dst.data() + done, dst.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno(name_, "read");
    if (n == 0) {
      fail(Error::Code::io, "'{}': ends at byte {}, needed {}", name_, offset + done,
           offset + dst.size());
    }
    done += static_cast<size_t>(n);
  }
}

std::vector<u8> read_file(const std::filesystem::path& path, u64 limit) {
  const File file(path);
  if (file.size() > limit) {
    fail(Error::Code::invalid_argument, "'{}': {} bytes, the limit is {}", file.name(), file.size(),
         limit);
  }
  std::vector<u8> bytes(file.size());
  file.read_at(0, bytes);
  return bytes;
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  remove_abandoned(path);
  for (int i = 0; i < kMaxTemporaryNames && fd_ < 0; ++i) {
    temporary_ = fmt::format("{}.{}-{}.tmp", path.string(), ::getpid(), i);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) break;
    // Somebody who cleans up may have been faster than this lock: then the name goes, and the next is tried. A file system
    // without locks is no obstacle: there nobody cleans up.
    if (fd_ < 0) continue;
    const bool taken = !lock_now(fd_) && errno == EWOULDBLOCK;
    if (taken || !has_a_name(fd_)) ::close(std::exchange(fd_, -1));
  }
  if (fd_ < 0) fail_errno(path.string(), "write");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const u8> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno(path_.string(), "write");
    done += static_cast<size_t>(n);
  }
  written_ += bytes.size();
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail_errno(path_.string(), "write");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail_errno(path_.string(), "replace");
  }
  ::close(fd_);
  fd_ = -1;
}

}  // namespace octet
