// SPDX-License-Identifier: Apache-2.0
// Errors on both sides: ours become the server's with the code that clients see as an HTTP status, and the server's become exceptions.
#pragma once

#include <stdexcept>
#include <string>

#include "octet/error.h"
#include "triton_api.h"

namespace octet::triton {

// The server's own, thrown by check().
class ServerError : public std::runtime_error {
 public:
  ServerError(TRITONSERVER_Error_Code code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  TRITONSERVER_Error_Code code() const { return code_; }

 private:
  TRITONSERVER_Error_Code code_;
};

// Throws ServerError where there is an error, and deletes it.
void check(TRITONSERVER_Error* error);
// For what may fail and nobody can help.
void ignore(TRITONSERVER_Error* error);

// Of the exception that is being handled.
TRITONSERVER_Error* current_error() noexcept;

// Null, or what `work` threw, as the server's error: nothing passes.
template <class Work>
TRITONSERVER_Error* guarded(const Work& work) noexcept {
  try {
    work();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

// By the server's logger.
void log(TRITONSERVER_LogLevel level, const std::string& message);

}  // namespace octet::triton
