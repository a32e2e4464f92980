// SPDX-License-Identifier: Apache-2.0
// Lines as trtexec prints them: "[mm/dd/yyyy-hh:mm:ss] [I] text". Information goes to standard output, warnings and errors to standard
// error.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace octet::cli::trtexec {

void set_verbose(bool verbose);

// Every line of a text gets the prefix.
void log_info(std::string_view text);
void log_verbose(std::string_view text);  // only with --verbose
void log_warning(std::string_view text);
void log_error(std::string_view text);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  log_info(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  log_warning(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  log_error(fmt::format(format, std::forward<Args>(args)...));
}

// As std::ostream prints floats: six significant digits.
inline std::string number(double value) { return fmt::format("{:g}", value); }

}  // namespace octet::cli::trtexec
