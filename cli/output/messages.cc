// SPDX-License-Identifier: Apache-2.0
#include "cli/output/messages.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

#include "cli/fail.h"
#include "cli/output/terminal.h"
#include "octet/line_log.h"

namespace octet::cli {
namespace {

// The first line of every log file: a file without it is somebody else's.
constexpr std::string_view kHeader = "# log of octet";

struct Messages {
  MessageOptions options;
  std::unique_ptr<LineLog> log;
};

Messages& messages() {
  static Messages instance;
  return instance;
}

std::string time_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(now));
}

// A log that can be written no longer is given up, which is said once.
void write_log(std::string_view line) {
  if (messages().log == nullptr) return;
  if (messages().log->add(fmt::format("{} {}", time_text(), line))) return;
  const std::string why = std::strerror(errno);
  messages().log.reset();
  write_to_stderr(fmt::format("warning: --log-file {}: cannot be written, its lines end here: {}\n",
                              sanitize(messages().options.log_file.string()), why));
}

}  // namespace

void write_to_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      pollfd other = {STDERR_FILENO, POLLOUT, 0};
      ::poll(&other, 1, -1);
    } else if (n == 0 || errno != EINTR) {
      return;
    }
  }
}

void open_messages(const MessageOptions& options) {
  messages().options = options;
  if (options.log_file.empty()) return;
  try {
    messages().log = std::make_unique<LineLog>(options.log_file, kHeader);
  } catch (const Error& error) {
    fail(error.code(), "--log-file: {}", error.message());
  }
}

void message(std::string_view line) {
  write_to_stderr(fmt::format("{}\n", line));
  write_log(line);
}

void detail(std::string_view line) {
  if (messages().options.verbose) write_to_stderr(fmt::format("{}\n", line));
  write_log(line);
}

bool quiet() { return messages().options.quiet; }

}  // namespace octet::cli
