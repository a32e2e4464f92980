// SPDX-License-Identifier: Apache-2.0
// The user's fault, raised as the library raises it: main() prints the message and ends with 2.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "octet/error.h"

namespace octet::cli {

template <class... Args>
[[noreturn]] void fail(Error::Code code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace octet::cli
