// SPDX-License-Identifier: Apache-2.0
// Kernels compiled by another process: the source is its standard input, machine code or the compiler's words its standard output,
// both files in memory.
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include "backends/cuda/nvrtc.h"
#include "core/check.h"
#include "core/types.h"

extern char** environ;

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
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  for (const char* place : {"octet-kernel-compiler", "../libexec/octet/octet-kernel-compiler"}) {
    const fs::path path = self.parent_path() / place;
    if (access(path.c_str(), X_OK) == 0) return path.string();
  }
  return {};
}

const std::string& program() {
  static const std::string path = find_program();
  return path;
}

int most_seconds() {
  constexpr int kMost = 300;
  const char* own = std::getenv("OCTET_KERNEL_COMPILER_SECONDS");
  const int seconds = own != nullptr ? std::atoi(own) : kMost;
  return seconds > 0 ? seconds : kMost;
}

// False where the process still runs then. A system that cannot tell waits for it.
bool ends_in(pid_t child, int seconds) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (process < 0) return true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int ready = 0;
  do {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd wait = {process, POLLIN, 0};
    ready = poll(&wait, 1, static_cast<int>(std::clamp<s64>(left.count(), 0, INT_MAX)));
  } while (ready < 0 && errno == EINTR);
  close(process);
  return ready != 0;
}

// The exit code, or -1 where the program could not be run. Throws Error where it takes too long.
int run_program(const std::string& name, const std::string& arch, int in, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  // The program changes none of its arguments; the interface takes them without const.
  const std::array<char*, 4> words = {const_cast<char*>(program().c_str()),
                                      const_cast<char*>(name.c_str()),
                                      const_cast<char*>(arch.c_str()), nullptr};
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, program().c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  const bool late = !ends_in(child, most_seconds());
  if (late) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  if (late)
    fail(Error::Code::unsupported,
         "'{}' does not compile kernel {} within {} s (OCTET_KERNEL_COMPILER_SECONDS)", program(),
         name, most_seconds());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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
