// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/random_inputs.h"
#include "cli/samples/sample_runs.h"
#include "cli/samples/samples.h"
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

// Photos and arrays each by themselves, over all files.
class Watched {
 public:
  Watched(const Engine& engine, bool photos)
      : known_(known_inputs(engine)), watch_(known_), history_{photos, {}, engine.preprocess()} {}

  void handled(const DataHandling& handling) {
    handling_ = handling;
    history_.applied = handling.applied;
    say_handling(handling);
  }
  void add(std::span<const Tensor> inputs) { watch_.add(inputs); }

  void report(DataChecks& into) const {
    if (!handling_) return;
    into.handlings.push_back(*handling_);
    for (InputDoubt& doubt : doubts_about(known_, watch_.profiles(), history_))
      into.doubts.push_back(std::move(doubt));
    for (InputWatch::Clipped& entry : watch_.clipped()) into.clipped.push_back(std::move(entry));
  }

 private:
  KnownInputs known_;
  InputWatch watch_;
  InputHistory history_;
  std::optional<DataHandling> handling_;
};

class FileRunner {
 public:
  FileRunner(const Engine& engine, Context& context, const EachResult& each)
      : engine_(engine),
        context_(context),
        each_(each),
        photos_(engine, true),
        arrays_(engine, false) {}

  DataChecks checks() const {
    DataChecks checks;
    photos_.report(checks);
    arrays_.report(checks);
    return checks;
  }

  void run_arrays(const std::string& name, std::span<const Tensor> inputs) {
    arrays_.handled({});
    arrays_.add(inputs);
    run_whole(name, inputs);
  }

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
    const DataHandling& handling = samples.checks().handlings[0];
    Watched& watched = handling.photos ? photos_ : arrays_;
    watched.handled(handling);
    const bool folder = std::filesystem::is_directory(options.data);
    const Runner runners[] = {runner_of(context_)};
    cli::run_samples(engine_, samples, runners,
                     [&](const LoadedSample& sample, std::span<const std::vector<Tensor>> outputs) {
                       watched.add(sample.inputs);
                       const auto name = folder ? options.data / sample.name
                                                : options.data.parent_path() / sample.name;
                       each_({name.string(), sample.inputs, outputs[0], 1});
                     });
  }

 private:
  const Engine& engine_;
  Context& context_;
  const EachResult& each_;
  Watched photos_, arrays_;
};

}  // namespace

DataChecks run_all(const Engine& engine, Context& context, const RunInputs& inputs,
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
        runner.run_arrays(file.string(), *arrays);
        continue;
      }
    }
    DataOptions options = inputs.options;
    options.data = file;
    options.prepared_arrays = !inputs.prepare_arrays;
    runner.run_samples(options);
  }
  return runner.checks();
}

}  // namespace octet::cli
