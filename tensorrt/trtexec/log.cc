// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/log.h"

#include <cstdio>
#include <ctime>

#include "cli/output/messages.h"
#include "cli/output/terminal.h"

namespace octet::cli::trtexec {
namespace {

bool verbose_lines = false;

std::string prefix(char severity) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("[{:02}/{:02}/{:04}-{:02}:{:02}:{:02}] [{}] ", local.tm_mon + 1, local.tm_mday,
                     local.tm_year + 1900, local.tm_hour, local.tm_min, local.tm_sec, severity);
}

// The two streams are one log to who reads both, so what was printed before goes out first.
void print(std::FILE* to, char severity, std::string_view text) {
  if (to == stderr) std::fflush(stdout);
  const std::string begin = prefix(severity);
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line =
        fmt::format("{}{}\n", begin, sanitize(std::string(text.substr(at, end - at))));
    to == stderr ? write_to_stderr(line) : fmt::print("{}", line);
    at = end + 1;
  }
}

}  // namespace

void set_verbose(bool verbose) { verbose_lines = verbose; }

void log_info(std::string_view text) { print(stdout, 'I', text); }
void log_verbose(std::string_view text) {
  if (verbose_lines) print(stdout, 'V', text);
}
void log_warning(std::string_view text) { print(stderr, 'W', text); }
void log_error(std::string_view text) { print(stderr, 'E', text); }

}  // namespace octet::cli::trtexec
