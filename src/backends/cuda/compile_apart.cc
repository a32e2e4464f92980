// SPDX-License-Identifier: Apache-2.0
// Kernels compiled by another process: the source is its standard input, machine code or the compiler's words its standard output,
// both files in memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "backends/cuda/nvrtc.h"
#include "core/check.h"
#include "core/own_file.h"
#include "core/spawned_child.h"
#include "core/types.h"

namespace octet::cuda {
namespace {

namespace fs = std::filesystem;

// A file without a name, closed on every way out.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  bool write_all(const std::string& text) {
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += static_cast<size_t>(n);
    }
    return lseek(fd_, 0, SEEK_SET) == 0;
  }
  std::vector<char> read_all() {
    const off_t size = lseek(fd_, 0, SEEK_END);
    std::vector<char> bytes(size > 0 ? static_cast<size_t>(size) : 0);
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n =
          pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }

 private:
  const int fd_;
};

std::string find_program() {
  if (const char* own = std::getenv("OCTET_KERNEL_COMPILER")) return own;
  // Beside the library that has this code, where that is another file than the program: a program in Python, C or Go lies anywhere.
  const fs::path folder = fs::path(own_file()).parent_path();
  for (const char* place : {"octet-kernel-compiler", "../libexec/octet/octet-kernel-compiler",
                            "../../libexec/octet/octet-kernel-compiler",
                            "../../../../libexec/octet/octet-kernel-compiler"}) {
    const fs::path path = folder / place;
    if (access(path.c_str(), X_OK) == 0) return path.string();
  }
  return {};
}

const std::string& program() {
  static const std::string path = find_program();
  return path;
}

// That a compiler may use at once.
constexpr int kThreads = 4;

int most_seconds() {
  constexpr int kMost = 300;
  const char* own = std::getenv("OCTET_KERNEL_COMPILER_SECONDS");
  const int seconds = own != nullptr ? std::atoi(own) : kMost;
  return seconds > 0 ? seconds : kMost;
}

// The largest kernel that we have takes NVRTC a few hundred megabytes and no process of its own.
ChildLimits compiler_limits() {
  constexpr s64 kMostMemory = s64{16} << 30, kMostFile = s64{1} << 30;
  const int seconds = most_seconds();
  return {.seconds = seconds,
          .processor_seconds = std::min(seconds, INT_MAX / kThreads) * kThreads,
          .memory = kMostMemory,
          .processes = 64,
          .file_bytes = kMostFile,
          .open_files = 1024};
}

// What it said last, for a reader.
std::string last_words(MemoryFile& file) {
  constexpr size_t kMost = 2000;
  const std::vector<char> bytes = file.read_all();
  const std::string words(bytes.end() - static_cast<std::ptrdiff_t>(std::min(bytes.size(), kMost)),
                          bytes.end());
  const size_t end = words.find_last_not_of(" \n");
  return end == words.npos ? "" : "; it said:\n" + words.substr(0, end + 1);
}

// The exit code, or -1 where the program could not be run. Throws Error where it does not end by itself: what it did there it would do to
// this process, too.
int run_program(const std::string& name, const std::string& arch, int in, int out) {
  MemoryFile words("words");
  const ChildLimits limits = compiler_limits();
  std::optional<SpawnedChild> child;
  try {
    child.emplace(std::vector<std::string>{program(), name, arch},
                  ChildStreams{in, out, words.fd()}, limits);
  } catch (const Error&) {
    return -1;
  }
  const ChildOutcome outcome = child->wait();
  if (outcome.how == ChildEnd::left) return outcome.code;
  if (outcome.how == ChildEnd::late)
    fail(Error::Code::unsupported,
         "'{}' does not compile kernel {} within {} s (OCTET_KERNEL_COMPILER_SECONDS){}", program(),
         name, limits.seconds, last_words(words));
  fail(Error::Code::unsupported,
       "'{}' {} while it compiles kernel {}; OCTET_KERNEL_COMPILER names another program{}",
       program(), to_string(outcome, limits), name, last_words(words));
}

}  // namespace

bool compiles_apart() { return !program().empty(); }

std::vector<char> compile_text(const std::string& text, const std::string& name,
                               const std::string& arch) {
  if (!compiles_apart()) return compile_here(text, name, arch);
  MemoryFile in("kernel"), out("code");
  if (in.fd() < 0 || out.fd() < 0 || !in.write_all(text)) return compile_here(text, name, arch);
  const int code = run_program(name, arch, in.fd(), out.fd());
  std::vector<char> bytes = out.read_all();
  // What went wrong there is said here once more, with its reason.
  if (code != 0 || bytes.empty()) return compile_here(text, name, arch);
  return bytes;
}

}  // namespace octet::cuda
