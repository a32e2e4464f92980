// SPDX-License-Identifier: Apache-2.0
#include "cli/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/random_inputs.h"
#include "cli/sample_runs.h"
#include "cli/samples.h"
#include "cli/standard_files.h"
#include "cli/terminal.h"
#include "octet/npz.h"

namespace octet::cli {
namespace {

bool is_array_data(const std::filesystem::path& path) {
  const std::string text = path.string();
  return is_array_file(path) || text.find(".npz:") != text.npos || text.find(".npz[") != text.npos;
}

// How many samples a run holds: the first dimension, where all inputs and outputs have the same.
int64_t rows_of(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  int64_t rows = 0;
  for (const std::span<const Tensor> tensors : {inputs, outputs}) {
    for (const Tensor& tensor : tensors) {
      const int64_t first = tensor.shape().rank() == 0 ? 0 : tensor.shape()[0];
      if (rows == 0) rows = first;
      if (first != rows) return 1;
    }
  }
  return std::max<int64_t>(rows, 1);
}

// Pixels as they are stored, given to a network whose images were scaled.
void warn_of_raw_arrays(const std::string& name, std::span<const Tensor> inputs,
                        const std::optional<Preprocess>& preprocess) {
  constexpr float kScaled = 30;
  if (!preprocess || preprocess->scale == 1 || inputs.size() != 1) return;
  if (inputs[0].dtype() != Dtype::f32 || inputs[0].elements() == 0) return;
  const auto values = inputs[0].as<float>();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low < 0 || *high <= kScaled || *high > preprocess->scale) return;
  print_warning(fmt::format(
      "{}: runs from {:.6g} to {:.6g}, and is used as it stands, though images of this engine are "
      "divided by {:.6g}; --scale and its like prepare arrays, too",
      name, *low, *high, preprocess->scale));
}

class FileRunner {
 public:
  FileRunner(const Engine& engine, Context& context, const EachResult& each)
      : engine_(engine), context_(context), each_(each) {}

  void run_whole(const std::string& name, std::span<const Tensor> inputs) {
    const std::vector<Tensor> outputs = run_named(engine_, runner_of(context_), inputs, name);
    const int64_t rows = rows_of(inputs, outputs);
    const bool whole = rows == 1 && !inputs.empty() && inputs[0].shape().rank() > 0;
    auto split = split_outputs(outputs, rows, rows);
    for (size_t row = 0; row < split.size(); ++row) {
      each_({rows == 1 ? name : fmt::format("{}[{}]", name, row), inputs, std::move(split[row]),
             whole ? inputs[0].shape()[0] : 1});
    }
  }

  void run_samples(const DataOptions& options) {
    Samples samples(engine_, options);
    const bool folder = std::filesystem::is_directory(options.data);
    const Runner runners[] = {runner_of(context_)};
    cli::run_samples(engine_, samples, runners,
                     [&](const LoadedSample& sample, std::span<const std::vector<Tensor>> outputs) {
                       const auto name = folder ? options.data / sample.name
                                                : options.data.parent_path() / sample.name;
                       each_({name.string(), sample.inputs, outputs[0], 1});
                     });
  }

 private:
  const Engine& engine_;
  Context& context_;
  const EachResult& each_;
};

}  // namespace

void run_all(const Engine& engine, Context& context, const RunInputs& inputs,
             const EachResult& each) {
  FileRunner runner(engine, context, each);
  for (int64_t i = 0; i < inputs.random.runs; ++i) {
    const auto seed = inputs.random.seed + static_cast<uint64_t>(i);
    runner.run_whole(fmt::format("random {}", seed),
                     random_inputs(engine, inputs.random.shapes, seed));
  }
  const std::vector<TensorInfo> infos = engine.inputs();
  for (const std::filesystem::path& file : inputs.files) {
    if (is_array_data(file) && !inputs.prepare_arrays && inputs.options.states.empty()) {
      if (const auto arrays = read_inputs(file, infos)) {
        warn_of_raw_arrays(with_known_names(file.string()), *arrays, engine.preprocess());
        runner.run_whole(file.string(), *arrays);
        continue;
      }
    }
    DataOptions options = inputs.options;
    options.data = file;
    options.prepared_arrays = !inputs.prepare_arrays;
    runner.run_samples(options);
  }
}

}  // namespace octet::cli
