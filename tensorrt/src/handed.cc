// SPDX-License-Identifier: Apache-2.0
#include "handed.h"

#include <atomic>
#include <string>

#include "report.h"

namespace octet_trt {
namespace {

std::atomic<nvinfer1::ILogger*> first_logger = nullptr;

}  // namespace

void remember_logger(nvinfer1::ILogger* logger) {
  nvinfer1::ILogger* none = nullptr;
  first_logger.compare_exchange_strong(none, logger);
}

nvinfer1::ILogger* remembered_logger() { return first_logger; }

#if NV_TENSORRT_MAJOR >= 10
void* beyond_table(const char* table, int place) noexcept {
  const Reporter reporter{remembered_logger(), nullptr};
  reporter.error(ErrorCode::kUNSUPPORTED_STATE,
                 std::string("a function of a later version than 10.16 was called: place ") +
                     std::to_string(place) + " behind the end of the table " + table);
  return nullptr;
}
#endif

}  // namespace octet_trt
