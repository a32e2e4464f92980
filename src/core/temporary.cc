// SPDX-License-Identifier: Apache-2.0
#include "core/temporary.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/descriptor.h"

namespace octet {
namespace {

constexpr size_t kMostOfTarget = 180;  // of its bytes: a name has at most 255
constexpr size_t kDigits = 16;
constexpr std::string_view kMark = "octet temporary file";

std::string beginning_of(const std::string& target) {
  return target.substr(0, kMostOfTarget) + '.';
}

template <class T>
bool take_number(std::string_view& text, T& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return error == std::errc();
}

// Whether the name is still that of the open file, a regular one without other names: a writer may have given its file the final
// name, and another taken the old one.
bool is_sole_name_of(const std::filesystem::path& path, int fd) {
  struct stat named {
  }, open{};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 && S_ISREG(open.st_mode) &&
         open.st_nlink == 1 && named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

}  // namespace

std::string temporary_name(const std::string& target, s64 process, int number) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(kMark)));
  hash.add(std::as_bytes(std::span(target)));
  hash.add(process);
  hash.add(s64{number});
  return fmt::format("{}{}-{}.{}.tmp", beginning_of(target), process, number,
                     hash.digest().hex().substr(0, kDigits));
}

bool is_temporary_of(const std::string& name, const std::string& target) {
  const std::string begin = beginning_of(target);
  if (!name.starts_with(begin)) return false;
  std::string_view rest = std::string_view(name).substr(begin.size());
  s64 process = 0;
  int number = 0;
  if (!take_number(rest, process) || !rest.starts_with('-')) return false;
  rest.remove_prefix(1);
  return take_number(rest, number) && name == temporary_name(target, process, number);
}

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
    const Descriptor file = open_file(temporary, O_RDONLY | O_NOFOLLOW);
    // With the lock nobody else renames or removes this file.
    if (file && lock_now(file.get()) && is_sole_name_of(temporary, file.get()))
      ::unlink(temporary.c_str());
  }
}

bool lock_now(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

}  // namespace octet
