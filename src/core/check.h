// SPDX-License-Identifier: Apache-2.0
// How errors are raised: fail() for the user's fault, OCTET_CHECK for ours.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "octet/error.h"

namespace octet {

template <class... Args>
[[noreturn]] void fail(Error::Code code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// The same, where an option or limit of the API stands in the way: "CompileOptions.input_shapes". Messages of the library know no
// flag of the command line, which adds its own advice by this name.
template <class... Args>
[[noreturn]] void fail_about(const char* field, Error::Code code,
                             fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...), field);
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace octet

// Our own invariant: throws Error(internal) in every build. A user's file must never reach it.
#define OCTET_CHECK(condition) \
  ((condition) ? void(0) : ::octet::check_failed(#condition, __FILE__, __LINE__))
