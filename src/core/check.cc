// SPDX-License-Identifier: Apache-2.0
#include "core/check.h"

namespace octet {

Error::Error(Code code, std::string message, std::string field)
    : std::runtime_error(message),
      code_(code),
      message_(std::move(message)),
      field_(std::move(field)),
      full_(message_) {}

void Error::add_context(std::string line) {
  full_ += "\n  " + line;
  context_.push_back(std::move(line));
}

const char* to_string(Error::Code code) {
  switch (code) {
    case Error::Code::invalid_model:
      return "invalid model";
    case Error::Code::unsupported:
      return "unsupported";
    case Error::Code::invalid_argument:
      return "invalid argument";
    case Error::Code::out_of_memory:
      return "out of memory";
    case Error::Code::io:
      return "i/o";
    case Error::Code::cancelled:
      return "cancelled";
    case Error::Code::internal:
      return "internal error";
  }
  return "error";
}

void check_failed(const char* condition, const char* file, int line) {
  fail(Error::Code::internal, "check failed: {} ({}:{}); please report this with the command line",
       condition, file, line);
}

}  // namespace octet
