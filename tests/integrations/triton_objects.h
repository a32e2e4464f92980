// SPDX-License-Identifier: Apache-2.0
// What the tests' server keeps behind the pointers that the backend gets.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "integrations/triton/triton_api.h"

struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  std::string message;
};
struct TRITONSERVER_Message {
  std::string text;
};
struct TRITONSERVER_Parameter {
  std::string name, value;
};
struct TRITONSERVER_MetricFamily {
  std::string name;
  std::atomic<int> metrics{0};
};
struct TRITONSERVER_Metric {
  TRITONSERVER_MetricFamily* family;
  std::atomic<double> value{0};
};
struct TRITONBACKEND_Backend {
  TRITONSERVER_Message config;
  void* state = nullptr;
};
struct TRITONBACKEND_Model {
  TRITONBACKEND_Backend* backend;
  std::string folder;
  nlohmann::json config;
  void* state = nullptr;
};
struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_Model* model;
  int number = 0;
  void* state = nullptr;
  std::atomic<uint64_t> executions{0};
};

namespace octet::triton_test {

// By family; all labels together.
struct MetricValues {
  std::mutex mutex;
  std::map<std::string, double> values;
};
MetricValues& metric_values();

}  // namespace octet::triton_test
