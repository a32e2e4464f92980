// SPDX-License-Identifier: Apache-2.0
#include "failure.h"

#include <new>

namespace octet::triton {
namespace {

TRITONSERVER_Error_Code code_of(Error::Code code) {
  switch (code) {
    case Error::Code::invalid_model:
    case Error::Code::invalid_argument:
      return TRITONSERVER_ERROR_INVALID_ARG;
    case Error::Code::unsupported:
      return TRITONSERVER_ERROR_UNSUPPORTED;
    case Error::Code::out_of_memory:  // there may be some later
      return TRITONSERVER_ERROR_UNAVAILABLE;
    case Error::Code::io:
      return TRITONSERVER_ERROR_NOT_FOUND;
    case Error::Code::cancelled:
      return TRITONSERVER_ERROR_CANCELLED;
    case Error::Code::internal:
      return TRITONSERVER_ERROR_INTERNAL;
  }
  return TRITONSERVER_ERROR_INTERNAL;
}

// take(code, message) of the exception that is being handled.
template <class Take>
auto with_current(const Take& take) {
  try {
    throw;
  } catch (const ServerError& error) {
    return take(error.code(), error.what());
  } catch (const Error& error) {
    return take(code_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return take(TRITONSERVER_ERROR_UNAVAILABLE, "out of memory");
  } catch (const std::exception& error) {
    return take(TRITONSERVER_ERROR_INTERNAL, error.what());
  } catch (...) {
    return take(TRITONSERVER_ERROR_INTERNAL, "an exception of no known kind");
  }
}

}  // namespace

void check(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  const TRITONSERVER_Error_Code code = TRITONSERVER_ErrorCode(error);
  const std::string message = TRITONSERVER_ErrorMessage(error);
  TRITONSERVER_ErrorDelete(error);
  throw ServerError(code, message);
}

void ignore(TRITONSERVER_Error* error) {
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
}

// Without memory of ours: there may be none.
TRITONSERVER_Error* current_error() noexcept { return with_current(TRITONSERVER_ErrorNew); }

void log(TRITONSERVER_LogLevel level, const std::string& message) {
  if (TRITONSERVER_LogIsEnabled(level))
    ignore(TRITONSERVER_LogMessage(level, "octet", 0, message.c_str()));
}

}  // namespace octet::triton
