// SPDX-License-Identifier: Apache-2.0
#include "cli/messages.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>

#include "cli/fail.h"

namespace octet::cli {
namespace {

// The first line of every log file: a file without it is somebody else's.
constexpr std::string_view kHeader = "# log of octet";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct Messages {
  MessageOptions options;
  std::unique_ptr<std::FILE, CloseFile> log;
};

Messages& messages() {
  static Messages instance;
  return instance;
}

std::string time_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(now));
}

void write_log(std::string_view line) {
  std::FILE* log = messages().log.get();
  if (log == nullptr) return;
  fmt::print(log, "{} {}\n", time_text(), line);
  std::fflush(log);
}

// True for a new or empty file.
bool is_new_log(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return true;
  std::ifstream file(path);
  std::string first;
  if (std::filesystem::is_regular_file(status) && !std::getline(file, first)) return true;
  if (first != kHeader) {
    fail(Error::Code::invalid_argument, "--log-file {}: exists and is no log of Octet's",
         path.string());
  }
  return false;
}

}  // namespace

void open_messages(const MessageOptions& options) {
  messages().options = options;
  if (options.log_file.empty()) return;
  const bool is_new = is_new_log(options.log_file);
  messages().log.reset(std::fopen(options.log_file.c_str(), "a"));
  if (messages().log == nullptr) {
    fail(Error::Code::io, "--log-file {}: {}", options.log_file.string(), std::strerror(errno));
  }
  if (is_new) fmt::print(messages().log.get(), "{}\n", kHeader);
}

void message(std::string_view line) {
  fmt::print(stderr, "{}\n", line);
  write_log(line);
}

void detail(std::string_view line) {
  if (messages().options.verbose) fmt::print(stderr, "{}\n", line);
  write_log(line);
}

bool quiet() { return messages().options.quiet; }

}  // namespace octet::cli
