// SPDX-License-Identifier: Apache-2.0
// Messages to and from the script that runs ONNX Runtime: JSON with arrays.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/child_process.h"
#include "octet/tensor.h"

namespace octet {

class OnnxRuntimeChannel {
 public:
  // Starts the script. Throws Error(io).
  OnnxRuntimeChannel(const std::string& python, double seconds);

  struct Message {
    nlohmann::ordered_json words;
    std::vector<Tensor> arrays;
  };
  void send(nlohmann::ordered_json words, std::span<const Tensor> arrays = {});
  // Throws Error(io) for no answer in time, and Error(invalid_argument) for one of other bytes than the script gives, or one that
  // says "error".
  Message receive();

 private:
  ChildProcess::Deadline deadline() const;

  ChildProcess child_;
  std::string name_;
  double seconds_;
};

}  // namespace octet
