// SPDX-License-Identifier: Apache-2.0
// What a command says beside its result: on standard error, and line by line in --log-file.
#pragma once

#include <filesystem>
#include <string_view>

namespace octet::cli {

struct MessageOptions {
  bool quiet = false;
  bool verbose = false;
  std::filesystem::path log_file;
};

// Writes to standard error, as far as it takes it: whoever closed it, or let it fill up, wants no messages, and gets the result still.
void write_to_stderr(std::string_view text) noexcept;

// Throws Error(io) for a log file that cannot be written, Error(invalid_argument) for a file that is no log of Octet's. Lines are
// added at the end of one that is.
void open_messages(const MessageOptions& options);

// One line that was made harmless for a terminal before.
void message(std::string_view line);
// What only --verbose and the log show.
void detail(std::string_view line);
// No progress is wanted.
bool quiet();

}  // namespace octet::cli
