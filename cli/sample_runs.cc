// SPDX-License-Identifier: Apache-2.0
#include "cli/sample_runs.h"

#include <fmt/format.h>

#include "octet/image_sizes.h"

namespace octet::cli {
namespace {

// The samples of one run; fewer at the end of the data.
std::vector<LoadedSample> take(Samples& samples, std::span<const TensorInfo> inputs,
                               int64_t& rows) {
  std::vector<LoadedSample> taken;
  while (taken.empty() || static_cast<int64_t>(taken.size()) < rows) {
    auto sample = samples.next();
    if (!sample) break;
    if (rows == 0) rows = samples_of_run(inputs, sample->inputs);
    taken.push_back(std::move(*sample));
  }
  return taken;
}

std::vector<Tensor> stacked(const std::vector<LoadedSample>& taken, int64_t rows) {
  std::vector<std::vector<Tensor>> inputs;
  for (const LoadedSample& sample : taken) inputs.push_back(sample.inputs);
  return stack_samples(inputs, rows);
}

}  // namespace

std::vector<Tensor> run_named(const Engine& engine, Context& context,
                              std::span<const Tensor> inputs, const std::string& name) {
  try {
    return context.run(inputs);
  } catch (Error& error) {
    const std::string advice = size_advice(engine, inputs, error);
    if (!advice.empty()) throw Error(error.code(), name + ": " + advice, "DataOptions.preprocess");
    error.add_context("running " + name);
    throw;
  }
}

SampleSource run_source(const Engine& engine, Samples& samples,
                        std::function<void(int64_t done)> done) {
  return [infos = engine.inputs(), &samples, done = std::move(done), rows = int64_t{0},
          taken = int64_t{0}](std::vector<Tensor>& inputs) mutable {
    const std::vector<LoadedSample> next = take(samples, infos, rows);
    if (next.empty()) return false;
    inputs = stacked(next, rows);
    done(taken += static_cast<int64_t>(next.size()));
    return true;
  };
}

void run_samples(const Engine& engine, Samples& samples, std::span<Context* const> contexts,
                 const EachSample& each) {
  const std::vector<TensorInfo> infos = engine.inputs();
  int64_t rows = 0;  // not known before the first sample
  for (auto taken = take(samples, infos, rows); !taken.empty();
       taken = take(samples, infos, rows)) {
    const auto count = static_cast<int64_t>(taken.size());
    const std::vector<Tensor> inputs = stacked(taken, rows);
    std::vector<std::vector<std::vector<Tensor>>> parts;  // of each context, of each sample
    for (Context* context : contexts)
      parts.push_back(
          split_outputs(run_named(engine, *context, inputs, taken[0].name), rows, count));
    for (size_t i = 0; i < taken.size(); ++i) {
      std::vector<std::vector<Tensor>> outputs;
      for (auto& part : parts) outputs.push_back(std::move(part[i]));
      each(taken[i], outputs);
    }
  }
}

}  // namespace octet::cli
