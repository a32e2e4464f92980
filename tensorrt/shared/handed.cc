// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/shared/handed.h"

#include <cxxabi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace octet_trt {
namespace {

std::atomic<nvinfer1::ILogger*> first_logger = nullptr;

class ErrorOutput final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, char const* text) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "octet: %s\n", text);
  }
};

}  // namespace

void remember_logger(nvinfer1::ILogger* logger) {
  nvinfer1::ILogger* none = nullptr;
  first_logger.compare_exchange_strong(none, logger);
}

nvinfer1::ILogger* remembered_logger() { return first_logger; }

nvinfer1::ILogger& error_output() {
  static auto* const output = new ErrorOutput;  // static objects of clients may still call us
  return *output;
}

#if NV_TENSORRT_MAJOR >= 10
// Loggers that this library was given may be gone, and the table that was called is not known to be an object's: standard error is there.
void* beyond_table(const char* table, int place) noexcept {
  char* const plain = abi::__cxa_demangle(table, nullptr, nullptr, nullptr);
  std::fprintf(stderr,
               "octet: a function of a later version than TensorRT 10.16 was called: place %d "
               "behind the end of %s\n",
               place, plain == nullptr ? table : plain);
  std::free(plain);
  return nullptr;
}
#endif

}  // namespace octet_trt
