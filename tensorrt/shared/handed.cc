// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/shared/handed.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace octet_trt {
namespace {

std::atomic<nvinfer1::ILogger*> first_logger = nullptr;

struct Loggers {
  std::mutex mutex;
  std::vector<nvinfer1::ILogger*> held;
};
// Objects of clients may outlive those of the library.
Loggers& loggers() {
  static auto* const all = new Loggers;
  return *all;
}

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

LoggerHold::LoggerHold(nvinfer1::ILogger* logger) : logger_(logger) {
  if (logger_ == nullptr) return;
  const std::lock_guard lock(loggers().mutex);
  loggers().held.push_back(logger_);
}

LoggerHold::~LoggerHold() {
  const std::lock_guard lock(loggers().mutex);
  auto& held = loggers().held;
  if (const auto at = std::ranges::find(held, logger_); at != held.end()) held.erase(at);
}

nvinfer1::ILogger& living_logger() {
  static auto* const output = new ErrorOutput;
  const std::lock_guard lock(loggers().mutex);
  return loggers().held.empty() ? *output : *loggers().held.back();
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
