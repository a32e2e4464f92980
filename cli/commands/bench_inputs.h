// SPDX-License-Identifier: Apache-2.0
// What octet bench runs an engine on: arrays of a file, or numbers that nobody chose.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet::cli {

struct BenchInputFlags {
  std::filesystem::path data;       // of one run; empty: random numbers
  std::vector<std::string> shapes;  // of these
  int64_t batch = 1;
};

// One run's. Throws Error(invalid_argument) where `data` holds no arrays of the inputs' shapes; warns of a batch that is not taken.
std::vector<Tensor> bench_inputs(const Engine& engine, const BenchInputFlags& flags);

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors);

}  // namespace octet::cli
