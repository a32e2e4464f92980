// SPDX-License-Identifier: Apache-2.0
// How the facade tells what went wrong: TensorRT's habit, null or false and a line in the log, with Octet's whole reason in it and in the
// error recorder.
#pragma once

#include <exception>
#include <string>

#include "NvInfer.h"
#include "octet/error.h"

namespace octet_trt {

using ErrorCode = nvinfer1::ErrorCode;
using Severity = nvinfer1::ILogger::Severity;

struct Reporter {
  nvinfer1::ILogger* logger = nullptr;
  nvinfer1::IErrorRecorder* recorder = nullptr;

  void log(Severity severity, const std::string& text) const noexcept;
  void warn(const std::string& text) const noexcept { log(Severity::kWARNING, text); }
  // Into the log, and into the recorder where there is one.
  void error(ErrorCode code, const std::string& text) const noexcept;
  void error(const char* where, const std::exception& error) const noexcept;
};

ErrorCode code_of(const std::exception& error) noexcept;
const char* name_of(ErrorCode code) noexcept;

// No exception passes the interface: what fails is told, and `otherwise` returned.
template <class Result, class Work>
Result guarded(const Reporter& reporter, const char* where, Result otherwise,
               Work&& work) noexcept {
  try {
    return work();
  } catch (const std::exception& error) {
    reporter.error(where, error);
  } catch (...) {
    reporter.error(ErrorCode::kUNSPECIFIED_ERROR,
                   std::string(where) + ": an exception of the caller's own type");
  }
  return otherwise;
}

}  // namespace octet_trt
