// SPDX-License-Identifier: Apache-2.0
// A user's own measure of outputs: a program that reads them from a file and prints one number.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "octet/tensor.h"

namespace octet {

struct MetricProgram {
  std::vector<std::string>
      words;          // the program, looked for in PATH where it has no slash, and its arguments
  int seconds = 600;  // it may take
  // Asked while it runs: whether it is to be ended before.
  std::function<bool()> stop = nullptr;
};

// Starts the program with one more argument: an .npz file with an array for each output (octet/saved_outputs.h) and `sample_names`, texts. What it
// prints on standard output must be one finite number, and it must end with 0 and leave no process behind. Throws one
// Error(invalid_argument) with what it printed where anything else happens, Error(io) where it cannot be started, Error(cancelled) where it was
// stopped.
double run_metric_program(const MetricProgram& program, const std::vector<std::string>& outputs,
                          std::span<const std::string> sample_names,
                          std::span<const std::vector<Tensor>> samples);

}  // namespace octet
