// SPDX-License-Identifier: Apache-2.0
// What only combinations for a device's pointers can do wrong.
#include <atomic>
#include <deque>
#include <iterator>
#include <mutex>

#include "octet/threads.h"
#include "plugin/check_trials.h"
#include "plugin/device_trial.h"

namespace octet {

std::string check_device_memory(const CheckContext& context) {
  const auto body = [&](const Trial& trial) {
    const PluginStep step = step_of(trial);
    const RunMemory memory, other{.around = std::byte{0x3c}};
    same_results(trial, run_on_device(*context.device, trial, step, memory),
                 run_on_device(*context.device, trial, step, other),
                 "depends on what lies beside its tensors or its workspace");
  };
  const size_t count = for_each_trial(context, "between margins", body, Reals::unknown);
  return fmt::format("{} cases, between margins of two kinds", count);
}

namespace {

constexpr const char* kWaits =
    "it waits: its function returns when its stream is done, and should when all work is given";

// The inputs come late in the stream. Work that is elsewhere reads what lay there before, or writes too early.
void run_late(const CheckContext& context, const Trial& trial) {
  const PluginStep step = step_of(trial);
  DeviceTrial run(*context.device, trial, step.workspace_bytes());
  const auto stream = context.device->make_stream(), beside = context.device->make_stream();
  run.fill(*stream, {});
  run.give(*stream, step);  // whatever the first call of all has to wait for
  const std::vector<Tensor> wanted = run.results(*stream);
  run.fill(*stream, {});
  stream->hold();
  run.give(*stream, step);
  context.device->let_others_work();
  const int early = run.first_written(*beside);
  if (!stream->release()) fail(kWrong, "{}: {}", trial.text(), kWaits);
  if (early >= 0)
    fail(kWrong,
         "{}: output '{}' is written before the stream comes to it: the work is not in the stream "
         "of the call",
         trial.text(), context.op.declaration.output(static_cast<size_t>(early)).name);
  same_results(trial, wanted, run.results(*stream),
               "is another one where inputs come late: work is not in the stream of the call");
}

}  // namespace

std::string check_stream(const CheckContext& context) {
  const size_t count = for_each_trial(
      context, "in a held stream", [&](const Trial& trial) { run_late(context, trial); },
      Reals::unknown);
  return fmt::format("{} cases", count);
}

namespace {

// Data of its own in a stream of its own.
struct StreamRunner {
  DeviceTrial run;
  std::unique_ptr<CheckStream> stream;
  std::vector<Tensor> wanted;

  void hold_results() {
    same_results(run.trial(), run.results(*stream), wanted,
                 "is another one while other streams run the same instance");
  }
};

using StreamRunners = std::deque<StreamRunner>;

// Given by one thread, and begun at once.
void run_in_streams(const CheckContext& context, StreamRunners& runners, const PluginStep& step) {
  constexpr int kRounds = 8;
  const auto gate = context.device->make_stream();
  for (int round = 0; round < kRounds; ++round) {
    for (StreamRunner& runner : runners) runner.run.fill(*runner.stream, {});
    gate->hold();
    for (StreamRunner& runner : runners) {
      runner.stream->begin_after(*gate);
      runner.run.give(*runner.stream, step);
    }
    if (!gate->release()) fail(kWrong, "{}: {}", runners.front().run.trial().text(), kWaits);
    for (StreamRunner& runner : runners) runner.hold_results();
  }
}

// Given by as many threads.
void run_in_threads(StreamRunners& runners, const PluginStep& step) {
  std::mutex mutex;
  std::string wrong;
  std::atomic<bool> stop = false;
  const auto end = std::chrono::steady_clock::now() + kTogether;
  run_threads(static_cast<int>(std::ssize(runners)), [&](int i) {
    StreamRunner& runner = *std::next(runners.begin(), i);
    try {
      for (int runs = 0; !stop && (runs < kRunsTogether || std::chrono::steady_clock::now() < end);
           ++runs) {
        runner.run.fill(*runner.stream, {});
        runner.run.give(*runner.stream, step);
        runner.hold_results();
      }
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      if (wrong.empty()) wrong = error.message();
      stop = true;
    }
  });
  if (!wrong.empty()) fail(kWrong, "{}", wrong);
}

}  // namespace

std::string check_streams(const CheckContext& context) {
  if (!context.op.declaration.concurrent()) return "declared to run one at a time";
  const auto body = [&](const Trial& trial) {
    const PluginStep step = step_of(trial);
    StreamRunners runners;
    for (int t = 0; t < context.threads; ++t) {
      const Trial twin = twin_of(context, trial, static_cast<u64>(t));
      runners.push_back({DeviceTrial(*context.device, twin, step.workspace_bytes()),
                         context.device->make_stream(),
                         run_on_device(*context.device, twin, step, {})});
    }
    run_in_streams(context, runners, step);
    run_in_threads(runners, step);
  };
  const size_t count =
      for_each_trial(context, "in several streams", body, Reals::measured, kSomeCases);
  return fmt::format("{} cases, {} streams", count, context.threads);
}

}  // namespace octet
