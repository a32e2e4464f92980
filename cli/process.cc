// SPDX-License-Identifier: Apache-2.0
#include "cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <initializer_list>

namespace octet::cli {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// Something that can neither be read (0) nor written (1, 2).
int open_useless(int fd) {
  const int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
  const int null = ::open("/dev/null", flags | O_NOCTTY);
  return null >= 0 ? null : ::open("/", O_PATH | O_DIRECTORY);
}

// Writing where nobody reads, and beyond a limit of sizes.
constexpr std::array kAnswered = {SIGXFSZ, SIGPIPE};
std::array<void (*)(int), kAnswered.size()> handlers_before = {};

}  // namespace

void prepare_process() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Those below it are open: it is the one that open() gives.
    if (!is_open(fd)) (void)open_useless(fd);
  }
  for (size_t i = 0; i < kAnswered.size(); ++i)
    handlers_before[i] = std::signal(kAnswered[i], SIG_IGN);
}

void restore_signals() noexcept {
  for (size_t i = 0; i < kAnswered.size(); ++i)
    if (handlers_before[i] != SIG_ERR) std::signal(kAnswered[i], handlers_before[i]);
}

}  // namespace octet::cli
