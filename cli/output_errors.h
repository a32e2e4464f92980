// SPDX-License-Identifier: Apache-2.0
// What eval and compare share: the float engine that a tested engine is held against, and the error of whole outputs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "inspect/error_stats.h"
#include "octet/engine.h"

namespace octet::cli {

// The elements as floats, whatever the number type.
std::vector<float> as_floats(const Tensor& tensor);

// Compiles `model` in FP32 (an engine file is loaded) and checks that inputs and outputs match those of `engine`.
Engine reference_for(const std::filesystem::path& model, const Engine& engine, int threads);

std::string decibels(double value);  // "38.2 dB", "exact"

// Running error over all outputs, and over each.
class OutputErrors {
 public:
  void add(const std::vector<Tensor>& reference, const std::vector<Tensor>& tested);
  const ErrorStats& stats() const { return all_; }
  const std::vector<ErrorStats>& outputs() const { return each_; }

 private:
  ErrorStats all_;
  std::vector<ErrorStats> each_;
};

}  // namespace octet::cli
