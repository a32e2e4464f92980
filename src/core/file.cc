// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "core/check.h"
#include "octet/output.h"

namespace octet {
namespace {

constexpr int kMaxTemporaryNames = 100;

[[noreturn]] void fail_errno(const std::string& name, const char* action) {
  const int error = errno;
  fail(Error::Code::io, "'{}': cannot {}: {}", name, action, std::strerror(error));
}

constexpr mode_t kNewFile = 0666;  // less what the process masks
constexpr mode_t kPermissions = 0777;
constexpr int kMaxLinks = 40;  // as the system follows

std::optional<struct stat> facts_of(const std::filesystem::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  return facts;
}

// A file that is replaced keeps its permissions, and its owner where this process may give it away.
void keep_facts(int fd, const struct stat& facts) {
  [[maybe_unused]] const int owner = ::fchown(fd, facts.st_uid, facts.st_gid);
  [[maybe_unused]] const int mode = ::fchmod(fd, facts.st_mode & kPermissions);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// The writer of a temporary file holds this lock; the system drops it when the writer dies.
bool lock_now(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

bool has_a_name(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 && facts.st_nlink > 0;
}

// Whether the name is still that of the open file: a writer may have given its file the final name, and another taken the old one.
bool is_name_of(const std::filesystem::path& path, int fd) {
  struct stat named {
  }, open{};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
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
    // With the lock nobody else renames or removes this file.
    if (lock_now(fd) && is_name_of(temporary, fd)) ::unlink(temporary.c_str());
    ::close(fd);
  }
}

// The path that a chain of symbolic links ends with, whether a file is there or not.
std::filesystem::path followed(std::filesystem::path path) {
  std::error_code error;
  const std::string name = path.string();
  for (int i = 0; i < kMaxLinks; ++i) {
    if (!std::filesystem::is_symlink(path, error)) return path;
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
    if (error) fail(Error::Code::io, "'{}': cannot read the link: {}", name, error.message());
  }
  fail(Error::Code::io, "'{}': more than {} symbolic links in a row", name, kMaxLinks);
}

}  // namespace

std::filesystem::path output_target(const std::filesystem::path& path) {
  const auto facts = facts_of(path);
  if (facts && !S_ISREG(facts->st_mode)) {
    fail(Error::Code::io, "'{}' is {}; a result is written to a regular file", path.string(),
         kind_of(facts->st_mode));
  }
  std::filesystem::path target = followed(path);
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  const auto around = facts_of(folder);
  if (!around || !S_ISDIR(around->st_mode)) {
    fail(Error::Code::io, "'{}': cannot write: there is no folder '{}'", path.string(),
         folder.string());
  }
  // Before hours of work for it, not after. A file is replaced by a new one, so that its own permissions do not matter.
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    fail(Error::Code::io, "'{}': cannot write in folder '{}': {}", path.string(), folder.string(),
         std::strerror(errno));
  }
  return target;
}

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

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(output_target(path)) {
  remove_abandoned(path_);
  const auto replaced = facts_of(path_);
  const mode_t mode = replaced ? replaced->st_mode & kPermissions : kNewFile;
  for (int i = 0; i < kMaxTemporaryNames && fd_ < 0; ++i) {
    temporary_ = fmt::format("{}.{}-{}.tmp", path_.string(), ::getpid(), i);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd_ < 0 && errno != EEXIST) break;
    // Somebody who cleans up may have been faster than this lock: then the name goes, and the next is tried. A file system
    // without locks is no obstacle: there nobody cleans up.
    if (fd_ < 0) continue;
    const bool taken = !lock_now(fd_) && errno == EWOULDBLOCK;
    if (taken || !has_a_name(fd_)) ::close(std::exchange(fd_, -1));
  }
  if (fd_ < 0) fail_errno(path_.string(), "write");
  if (replaced) keep_facts(fd_, *replaced);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  // While the lock is held nobody else takes the name.
  ::unlink(temporary_.c_str());
  ::close(fd_);
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

void write_text(std::string_view text, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write({reinterpret_cast<const u8*>(text.data()), text.size()});
  file.commit();
}

void write_bytes(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write({reinterpret_cast<const u8*>(bytes.data()), bytes.size()});
  file.commit();
}

}  // namespace octet
