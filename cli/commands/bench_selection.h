// SPDX-License-Identifier: Apache-2.0
// octet bench --assert-selection: the chosen kernels held against every other that accepts their layer.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "cli/output/outputs.h"
#include "octet/engine.h"
#include "octet/tensor.h"
#include "octet/tuning.h"

namespace octet::cli {

struct SelectionFlags {
  int threads = 1;
  double tolerance = 0.1;
  bool json = false;
  const Output& tune;                    // where the choices go, if it is given
  std::shared_ptr<const Tuning> tuning;  // choices to hold against measurement, or null
  std::string device = "cpu";
};

// Prints the table or the object and writes the choices; the exit code. Wrong choices are no failure where they are being tuned.
int assert_selection(const Engine& engine, std::span<const Tensor> inputs,
                     const SelectionFlags& flags);

// octet bench --layer: one layer by itself, known by its signature. Exit code 1 where its kernels differ in their results.
int bench_layer(const std::string& signature, const SelectionFlags& flags);

}  // namespace octet::cli
