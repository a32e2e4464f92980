// SPDX-License-Identifier: Apache-2.0
// What eval and compare share: the float engine that a tested engine is held against, and the error of whole outputs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/samples/engine_source.h"
#include "octet/engine.h"
#include "octet/error_stats.h"

namespace octet::cli {

// Compiles `model` in FP32 (an engine file is loaded) and checks that inputs and outputs match those of `engine`.
Engine reference_for(const EngineSource& model, const Engine& engine);

std::string decibels(double value);  // "38.2 dB", "exact"
// A number, or null for what is exact.
nlohmann::ordered_json sqnr_json(double value);

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
