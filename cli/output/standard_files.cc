// SPDX-License-Identifier: Apache-2.0
#include "cli/output/standard_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cli/fail.h"
#include "cli/output/messages.h"
#include "octet/limits.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = 1 << 20;

[[noreturn]] void fail_io(const char* what) {
  fail(Error::Code::io, "{}: {}", what, std::strerror(errno));
}

// Whether it is worth trying again what the system refused, once that is possible: another program may have made the file one that does
// not wait.
bool try_again(int fd, short event) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  pollfd other = {fd, event, 0};
  return ::poll(&other, 1, -1) >= 0 || errno == EINTR;
}

void write_all(int to, const char* data, size_t bytes, const char* what) {
  while (bytes > 0) {
    const ssize_t written = ::write(to, data, bytes);
    if (written < 0 && try_again(to, POLLOUT)) continue;
    if (written <= 0) fail_io(what);
    data += written;
    bytes -= static_cast<size_t>(written);
  }
}

void copy(int from, int to, int64_t most, const char* what) {
  std::vector<char> piece(kPiece);
  for (int64_t total = 0;;) {
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && try_again(from, POLLIN)) continue;
    if (got < 0) fail_io(what);
    if (got == 0) return;
    total += got;
    if (total > most) {
      throw Error(Error::Code::out_of_memory,
                  fmt::format("{}: more than the limit of {} bytes", what, most), "Limits.memory");
    }
    write_all(to, piece.data(), static_cast<size_t>(got), what);
  }
}

// Empty before it is read.
fs::path& standard_input() {
  static fs::path path;
  return path;
}

int standard_output = STDOUT_FILENO;

ssize_t print_message(void*, const char* text, size_t bytes) {
  write_to_stderr({text, bytes});
  return static_cast<ssize_t>(bytes);
}

}  // namespace

fs::path readable(const fs::path& path) {
  if (!is_dash(path)) return path;
  fs::path& file = standard_input();
  if (!file.empty()) return file;
  const int memory = ::memfd_create("standard-input", MFD_CLOEXEC);
  if (memory < 0) fail_io("standard input");
  copy(STDIN_FILENO, memory, limits().memory, "standard input");
  return file = fmt::format("/proc/self/fd/{}", memory);
}

bool is_standard_input(const fs::path& path) {
  return !standard_input().empty() && path == standard_input();
}

std::string with_known_names(std::string text) {
  const std::string name = standard_input().string();
  if (name.empty()) return text;
  for (size_t at = text.find(name); at != text.npos; at = text.find(name))
    text.replace(at, name.size(), "standard input");
  return text;
}

void take_standard_output(const std::string& flag) {
  if (::isatty(STDOUT_FILENO) == 1) {
    fail(Error::Code::invalid_argument,
         "{} -: standard output is a terminal; name a file, or send it to one", flag);
  }
  std::fflush(stdout);
  // No process that is started later gets it.
  standard_output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (standard_output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) fail_io("standard output");
  // What the program prints itself is messages now, which are lost without harm.
  std::FILE* const messages = ::fopencookie(
      nullptr, "w", {.read = nullptr, .write = print_message, .seek = nullptr, .close = nullptr});
  if (messages == nullptr) fail_io("standard output");
  stdout = messages;
}

void write_standard_output(const fs::path& file) {
  read_pieces(file, [](std::span<const std::byte> piece) {
    write_all(standard_output, reinterpret_cast<const char*>(piece.data()), piece.size(),
              "standard output");
  });
}

ScratchFile::ScratchFile() {
  std::error_code error;
  const fs::path all = fs::temp_directory_path(error);
  if (error)
    fail(Error::Code::io, "there is no folder for temporary files (TMPDIR): {}", error.message());
  std::string folder = (all / "octet-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) fail_io(folder.c_str());
  folder_ = folder;
  file_ = folder_ / "output";
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace octet::cli
