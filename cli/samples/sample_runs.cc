// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/sample_runs.h"

#include <fmt/format.h>

#include <memory>

#include "cli/fail.h"
#include "cli/samples/ordered_work.h"
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

Runner runner_of(Spread& spread) {
  return [&spread](std::span<const Tensor> inputs) { return spread.run(inputs); };
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

namespace {

// The samples of one run, and what each runner made of each of them.
struct Group {
  std::vector<LoadedSample> taken;
  int64_t rows = 0;
  std::vector<std::vector<std::vector<Tensor>>> parts = {};  // of each runner, of each sample
};

int64_t bytes_of(const Group& group) {
  size_t bytes = 0;
  const auto add = [&](const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) bytes += tensor.bytes();
  };
  for (const LoadedSample& sample : group.taken) add(sample.inputs);
  for (const auto& part : group.parts) {
    for (const auto& outputs : part) add(outputs);
  }
  return static_cast<int64_t>(bytes);
}

class GroupRuns {
 public:
  GroupRuns(const Engine& engine, const Samples& samples, std::span<const Runner> runners)
      : engine_(engine),
        runners_(runners),
        has_states_(!samples.states().empty()),
        // Each runner has states of its own.
        states_(runners.size(), StateLoop(samples.states(), engine.inputs(), engine.outputs())) {}

  // By the first runner, from any thread where there are no states.
  void run_first(Group& group) {
    group.parts.resize(runners_.size());
    run_one(group, 0);
  }

  void run_others(Group& group) {
    for (size_t runner = 1; runner < runners_.size(); ++runner) run_one(group, runner);
  }

 private:
  void run_one(Group& group, size_t runner) {
    std::vector<Tensor> inputs = stacked(group.taken, group.rows);
    StateLoop& states = states_[runner];
    if (has_states_ && group.taken[0].begins) states.begin();
    if (has_states_) states.fill(inputs);
    const auto outputs = run_named(engine_, runners_[runner], inputs, group.taken[0].name);
    if (has_states_) states.keep(outputs);
    group.parts[runner] = has_states_ ? std::vector<std::vector<Tensor>>{outputs}
                                      : split_outputs(outputs, group.rows, std::ssize(group.taken));
  }

  const Engine& engine_;
  const std::span<const Runner> runners_;
  const bool has_states_;
  std::vector<StateLoop> states_;
};

void tell(Group& group, const EachSample& each) {
  for (size_t i = 0; i < group.taken.size(); ++i) {
    std::vector<std::vector<Tensor>> outputs;
    for (auto& part : group.parts) outputs.push_back(std::move(part[i]));
    each(group.taken[i], outputs);
  }
}

}  // namespace

void run_samples(const Engine& engine, Samples& samples, std::span<const Runner> runners,
                 const EachSample& each, int at_once) {
  const std::vector<TensorInfo> infos = engine.inputs();
  GroupRuns runs(engine, samples, runners);
  int64_t rows = 0;  // not known before the first sample
  const auto next = [&]() -> std::optional<Group> {
    Group group{take(samples, infos, rows)};
    if (group.taken.empty()) return std::nullopt;
    check_steps(samples, rows);
    group.rows = rows;
    return group;
  };
  const auto run_first = [&](Group& group) { runs.run_first(group); };
  const auto finish = [&](Group& group) {
    runs.run_others(group);
    tell(group, each);
  };
  if (at_once > 1 && samples.states().empty()) {
    OrderedWork<Group>({next, run_first, finish, bytes_of}, at_once).run();
    return;
  }
  while (std::optional<Group> group = next()) {
    run_first(*group);
    finish(*group);
  }
}

}  // namespace octet::cli
