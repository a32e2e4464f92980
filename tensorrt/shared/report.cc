// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/shared/report.h"

#include <new>

namespace octet_trt {

ErrorCode code_of(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return ErrorCode::kFAILED_ALLOCATION;
  const auto* own = dynamic_cast<const octet::Error*>(&error);
  if (own == nullptr) return ErrorCode::kUNSPECIFIED_ERROR;
  switch (own->code()) {
    case octet::Error::Code::invalid_model:
      return ErrorCode::kINVALID_ARGUMENT;
    case octet::Error::Code::unsupported:
      return ErrorCode::kUNSUPPORTED_STATE;
    case octet::Error::Code::invalid_argument:
      return ErrorCode::kINVALID_ARGUMENT;
    case octet::Error::Code::out_of_memory:
      return ErrorCode::kFAILED_ALLOCATION;
    case octet::Error::Code::io:
      return ErrorCode::kFAILED_INITIALIZATION;
    case octet::Error::Code::cancelled:
      return ErrorCode::kFAILED_EXECUTION;
    case octet::Error::Code::internal:
      return ErrorCode::kINTERNAL_ERROR;
  }
  return ErrorCode::kUNSPECIFIED_ERROR;
}

const char* name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kSUCCESS:
      return "Success";
    case ErrorCode::kUNSPECIFIED_ERROR:
      return "Unspecified";
    case ErrorCode::kINTERNAL_ERROR:
      return "Internal Error";
    case ErrorCode::kINVALID_ARGUMENT:
      return "API Usage Error";
    case ErrorCode::kINVALID_CONFIG:
      return "Invalid Config";
    case ErrorCode::kFAILED_ALLOCATION:
      return "OutOfMemory";
    case ErrorCode::kFAILED_INITIALIZATION:
      return "Initialization";
    case ErrorCode::kFAILED_EXECUTION:
      return "Execution";
    case ErrorCode::kFAILED_COMPUTATION:
      return "Computation";
    case ErrorCode::kINVALID_STATE:
      return "Invalid State";
    case ErrorCode::kUNSUPPORTED_STATE:
      return "Unsupported";
  }
  return "Unspecified";
}

void Reporter::log(Severity severity, const std::string& text) const noexcept {
  if (logger == nullptr) return;
  try {
    logger->log(severity, text.c_str());
  } catch (...) {
    // A logger that fails has nobody to tell it to.
  }
}

void Reporter::error(ErrorCode code, const std::string& text) const noexcept {
  try {
    const std::string line = "Error Code " + std::to_string(static_cast<int>(code)) + ": " +
                             name_of(code) + " (" + text + ")";
    log(code == ErrorCode::kINTERNAL_ERROR ? Severity::kINTERNAL_ERROR : Severity::kERROR, line);
    if (recorder != nullptr) recorder->reportError(code, text.c_str());
  } catch (const std::bad_alloc&) {
    log(Severity::kERROR, "out of memory while an error was told");
  } catch (...) {
    log(Severity::kERROR, "the error recorder has thrown an exception");
  }
}

void Reporter::error(const char* where, const std::exception& failure) const noexcept {
  try {
    error(code_of(failure), std::string(where) + ": " + failure.what());
  } catch (...) {
    log(Severity::kERROR, where);
  }
}

}  // namespace octet_trt
