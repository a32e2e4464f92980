// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/temporary.h"
#include "octet/output.h"

namespace octet {
namespace {

constexpr int kMaxTemporaryNames = 100;

[[noreturn]] void fail_errno(const std::string& name, const char* action) {
  const int error = errno;
  fail(Error::Code::io, "'{}': cannot {}: {}", name, action, std::strerror(error));
}

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

bool has_a_name(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 && facts.st_nlink > 0;
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
         special_kind(facts->st_mode));
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

File::File(const std::filesystem::path& path) : File(path.string(), open_file(path, O_RDONLY)) {}

File::File(std::string name, Descriptor descriptor)
    : name_(std::move(name)), fd_(std::move(descriptor)) {
  struct stat facts {};
  // A socket has a place in a folder, and cannot be opened.
  const bool known =
      fd_ ? ::fstat(fd_.get(), &facts) == 0 : errno == ENXIO && ::stat(name_.c_str(), &facts) == 0;
  if (!known) fail_errno(name_, "open");
  if (!S_ISREG(facts.st_mode)) {
    fail(Error::Code::io, "'{}' is not a regular file but {}", name_, special_kind(facts.st_mode));
  }
  size_ = static_cast<u64>(facts.st_size);
}

void File::read_at(u64 offset, std::span<u8> dst) const {
  size_t done = 0;
  while (done < dst.size()) {
    const ssize_t n =
        ::pread(fd_.get(), dst.data() + done, dst.size() - done, static_cast<off_t>(offset + done));
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
  return read_file(File(path), limit);
}

std::vector<u8> read_file(const File& file, u64 limit) {
  if (file.size() > limit) {
    fail(Error::Code::invalid_argument, "'{}': {} bytes, the limit is {}", file.name(), file.size(),
         limit);
  }
  std::vector<u8> bytes(file.size());
  file.read_at(0, bytes);
  return bytes;
}

AtomicFile::AtomicFile(const std::filesystem::path& path, mode_t mode)
    : path_(output_target(path)) {
  remove_abandoned(path_);
  const auto replaced = facts_of(path_);
  if (replaced) mode = replaced->st_mode & kPermissions;
  for (int i = 0; i < kMaxTemporaryNames && !fd_; ++i) {
    temporary_ = path_;
    temporary_.replace_filename(temporary_name(path_.filename().string(), ::getpid(), i));
    fd_ = open_file(temporary_, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (!fd_ && errno != EEXIST) break;
    // Somebody who cleans up may have been faster than this lock: then the name goes, and the next is tried. A file system
    // without locks is no obstacle: there nobody cleans up.
    if (!fd_) continue;
    const bool taken = !lock_now(fd_.get()) && errno == EWOULDBLOCK;
    if (taken || !has_a_name(fd_.get())) fd_.reset();
  }
  if (!fd_) fail_errno(path_.string(), "write");
  if (replaced) keep_facts(fd_.get(), *replaced);
}

AtomicFile::~AtomicFile() {
  // While the lock is held nobody else takes the name.
  if (fd_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const u8> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) fail_errno(path_.string(), "write");
    done += static_cast<size_t>(n);
  }
  written_ += bytes.size();
}

void AtomicFile::commit() {
  while (::fsync(fd_.get()) != 0) {
    if (errno != EINTR) fail_errno(path_.string(), "write");
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail_errno(path_.string(), "replace");
  }
  fd_.reset();
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
