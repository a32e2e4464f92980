// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/sample_runs.h"

#include <fmt/format.h>

#include <memory>

#include "cli/fail.h"
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

// A sequence goes step by step.
void check_steps(const Samples& samples, int64_t rows) {
  if (samples.states().empty() || rows == 1) return;
  fail(Error::Code::unsupported,
       "--state: the model takes {} samples a run; states need a model that takes one", rows);
}

// One engine along the sequences, for the states alone.
class StateRun {
 public:
  StateRun(const Engine& engine, const Samples& samples, std::shared_ptr<Context> context)
      : samples_(samples),
        states_(samples.states(), engine.inputs(), engine.outputs()),
        context_(std::move(context)) {}

  // Fills the states into the inputs of this step, and takes it.
  void step(const Engine& engine, std::span<const LoadedSample> taken, int64_t rows,
            std::vector<Tensor>& inputs) {
    check_steps(samples_, rows);
    if (taken[0].begins) states_.begin();
    states_.fill(inputs);
    states_.keep(run_named(engine, runner_of(*context_), inputs, taken[0].name));
  }

 private:
  const Samples& samples_;
  StateLoop states_;
  std::shared_ptr<Context> context_;
};

}  // namespace

Runner runner_of(Context& context) {
  return [&context](std::span<const Tensor> inputs) { return context.run(inputs); };
}

std::vector<Tensor> run_named(const Engine& engine, const Runner& runner,
                              std::span<const Tensor> inputs, const std::string& name) {
  try {
    return runner(inputs);
  } catch (Error& error) {
    const std::string advice = size_advice(engine, inputs, error);
    if (!advice.empty()) throw Error(error.code(), name + ": " + advice, "DataOptions.preprocess");
    error.add_context("running " + name);
    throw;
  }
}

SampleSource run_source(const Engine& engine, Samples& samples,
                        std::function<void(int64_t done)> done) {
  struct Source {
    std::vector<TensorInfo> infos;
    std::optional<StateRun> states;
    int64_t rows = 0, taken = 0;
  };
  auto source = std::make_shared<Source>();
  source->infos = engine.inputs();
  if (!samples.states().empty()) {
    // The states of this engine, run here beside the callers' runs.
    auto context = std::make_shared<Context>(engine.make_context());
    source->states.emplace(engine, samples, std::move(context));
  }
  return [source, &engine, &samples, done = std::move(done)](std::vector<Tensor>& inputs) {
    const std::vector<LoadedSample> next = take(samples, source->infos, source->rows);
    if (next.empty()) return false;
    inputs = stacked(next, source->rows);
    if (source->states) source->states->step(engine, next, source->rows, inputs);
    done(source->taken += static_cast<int64_t>(next.size()));
    return true;
  };
}

void run_samples(const Engine& engine, Samples& samples, std::span<const Runner> runners,
                 const EachSample& each) {
  const std::vector<TensorInfo> infos = engine.inputs();
  // Each runner has states of its own.
  std::vector<StateLoop> states(runners.size(),
                                StateLoop(samples.states(), infos, engine.outputs()));
  int64_t rows = 0;  // not known before the first sample
  for (auto taken = take(samples, infos, rows); !taken.empty();
       taken = take(samples, infos, rows)) {
    const auto count = static_cast<int64_t>(taken.size());
    check_steps(samples, rows);
    std::vector<std::vector<std::vector<Tensor>>> parts;  // of each runner, of each sample
    for (size_t c = 0; c < runners.size(); ++c) {
      std::vector<Tensor> inputs = stacked(taken, rows);
      if (taken[0].begins) states[c].begin();
      states[c].fill(inputs);
      const auto outputs = run_named(engine, runners[c], inputs, taken[0].name);
      states[c].keep(outputs);
      parts.push_back(samples.states().empty() ? split_outputs(outputs, rows, count)
                                               : std::vector<std::vector<Tensor>>{outputs});
    }
    for (size_t i = 0; i < taken.size(); ++i) {
      std::vector<std::vector<Tensor>> outputs;
      for (auto& part : parts) outputs.push_back(std::move(part[i]));
      each(taken[i], outputs);
    }
  }
}

}  // namespace octet::cli
