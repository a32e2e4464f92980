// SPDX-License-Identifier: Apache-2.0
// What octet run is asked to run: images, arrays, folders of them; each sample, whichever file it lies in, gives one result.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/flags/data_flags.h"
#include "cli/samples/data_checks.h"
#include "octet/engine.h"

namespace octet::cli {

struct RunResult {
  std::string name;                // "a.jpg", "data.npz[3]"
  std::span<const Tensor> inputs;  // of the sample, or of the whole run that it is a row of
  std::vector<Tensor> outputs;
  int64_t rows =
      1;  // samples of the run that the outputs are of, where they could not be cut into rows
};
using EachResult = std::function<void(RunResult)>;

// Runs of numbers that nobody chose.
struct RandomRuns {
  int64_t runs = 0;
  uint64_t seed = 0;  // of the first; the next has the next
  std::vector<Shape> shapes = {};
};

struct RunInputs {
  std::vector<std::filesystem::path> files;
  DataOptions options;          // of all files; without the file itself
  bool prepare_arrays = false;  // arrays go through the preprocessing too: flags ask for it
  RandomRuns random = {};       // before the files
};

// Runs them all, in order. An array file whose arrays have the inputs' own shapes is one run, used as it stands, and each of its rows
// one result where inputs and outputs agree on their number; other data go sample by sample, as calibration reads them.
// Tells how photos and arrays are prepared, and gives what is wrong with them, all data together.
DataChecks run_all(const Engine& engine, Context& context, const RunInputs& inputs,
                   const EachResult& each);

}  // namespace octet::cli
