// SPDX-License-Identifier: Apache-2.0
#include "plugin/check_run.h"

#include <malloc.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "core/check.h"
#include "core/rounding.h"
#include "plugin/isolated.h"

namespace octet {
namespace {

constexpr std::chrono::milliseconds kTogether{200};
constexpr auto kWrong = Error::Code::invalid_argument;

enum class Reals { measured, unknown };

template <class Body>
size_t for_each_trial(const CheckContext& context, const char* stage, const Body& body,
                      Reals reals = Reals::measured) {
  size_t count = 0;
  for (const CheckCase& from : cases_of(context.op, context.seed)) {
    Trial trial = make_trial(context.op, context.combination, from, context.seed + count++);
    note_stage(fmt::format("{}, {}", stage, trial.text()));
    if (reals == Reals::measured) measure_reals(trial);
    body(trial);
  }
  return count;
}

s64 first_difference(const Tensor& a, const Tensor& b) {
  const size_t size = dtype_bytes(a.dtype());
  for (size_t at = 0; at < a.bytes(); ++at) {
    if (a.data()[at] != b.data()[at]) return static_cast<s64>(at / size);
  }
  return -1;
}

// Throws where any output of two runs differs; `how` says what the difference between the runs was.
void same_results(const Trial& trial, const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                  const char* how) {
  for (size_t i = 0; i < a.size(); ++i) {
    const s64 at = first_difference(a[i], b[i]);
    if (at >= 0)
      fail(kWrong, "{}: element {} of output '{}' {}", trial.text(), at,
           trial.op->declaration.output(i).name, how);
  }
}

f64 value_at(const Tensor& tensor, s64 i) {
  const auto at = static_cast<size_t>(i);
  switch (tensor.dtype()) {
    case Dtype::u8:
      return tensor.as<u8>()[at];
    case Dtype::s8:
      return tensor.as<s8>()[at];
    case Dtype::f32:
      return tensor.as<f32>()[at];
    case Dtype::s32:
      return tensor.as<s32>()[at];
    case Dtype::s64:
      return static_cast<f64>(tensor.as<s64>()[at]);
    default:
      return static_cast<f64>(
          std::to_integer<int>(tensor.data()[at * dtype_bytes(tensor.dtype())]));
  }
}

struct Allowed {
  f64 error;
  const char* unit;
};

// What a result may differ by: one code; of reals one 255th of their range; of other numbers nothing.
Allowed allowed(const Trial& trial, size_t i) {
  if (trial.op->declaration.commutes()) return {0, "value"};
  if (trial.form.outputs[i].is_codes()) return {1, "code"};
  const Tensor& real = trial.reals[i];
  if (real.dtype() != Dtype::f32) return {0, "value"};
  f64 low = 0, high = 0;
  for (f32 x : real.as<f32>()) {
    if (!std::isfinite(x)) continue;
    low = std::min<f64>(low, x);
    high = std::max<f64>(high, x);
  }
  return {std::max((high - low) / 255, 1e-6), "255th of the range"};
}

f64 wanted_at(const Trial& trial, size_t i, s64 e) {
  const PortCodes port = trial.meaning(trial.form.outputs[i]);
  const f64 real = value_at(trial.reals[i], e);
  if (!port.is_codes()) return real;
  const bool u = port.stored == Dtype::u8;
  return quantize(static_cast<f32>(real), port.scales[0], port.zero_point, u ? 0 : -128,
                  u ? 255 : 127);
}

}  // namespace

// Nothing runs outside of guarded memory here: what writes where it must not is found before it does harm.
std::string check_memory(const CheckContext& context) {
  const auto body = [&](const Trial& trial) {
    const PluginStep step = step_of(trial);
    run_guarded(trial, step, {GuardedMemory::At::end, std::byte{0xa5}});
    run_guarded(trial, step, {GuardedMemory::At::start, std::byte{0xa5}});
  };
  const size_t count = for_each_trial(context, "between guard pages", body, Reals::unknown);
  return fmt::format("{} cases, at both ends", count);
}

std::string check_results(const CheckContext& context) {
  const size_t count = for_each_trial(context, "poisoned outputs", [&](const Trial& trial) {
    const PluginStep step = step_of(trial);
    const auto first = run_guarded(trial, step, {GuardedMemory::At::end, std::byte{0xa5}});
    const auto again = run_guarded(trial, step, {GuardedMemory::At::end, std::byte{0xa5}});
    same_results(trial, first, again, "changes from run to run");
    const auto other = run_guarded(trial, step, {GuardedMemory::At::end, std::byte{0x5a}});
    same_results(trial, first, other,
                 "is not written, or depends on what lay in the outputs or the workspace before");
    same_results(trial, first, run_plain(trial, step_of(trial)),
                 "depends on where its memory lies");
  });
  return fmt::format("{} cases, four runs each", count);
}

std::string check_against_reals(const CheckContext& context) {
  f64 worst = 0;
  const size_t count =
      for_each_trial(context, "against the float evaluation", [&](const Trial& trial) {
        const std::vector<Tensor> got = run_plain(trial, step_of(trial));
        for (size_t i = 0; i < got.size(); ++i) {
          const Allowed most = allowed(trial, i);
          for (s64 e = 0; e < got[i].elements(); ++e) {
            const f64 value = value_at(got[i], e), wanted = wanted_at(trial, i, e);
            const f64 error = std::fabs(value - wanted);
            if (!(error <= most.error) && !(std::isnan(value) && std::isnan(wanted)))
              fail(kWrong,
                   "{}: element {} of output '{}' is {}, the float evaluation gives {}: more than "
                   "one {}",
                   trial.text(), e, context.op.declaration.output(i).name, value, wanted,
                   most.unit);
            if (most.error > 0) worst = std::max(worst, error / most.error);
          }
        }
      });
  return fmt::format("{} cases, at most {:.2f} of what is allowed", count, worst);
}

std::string check_layouts(const CheckContext& context) {
  size_t others = 0;
  for_each_trial(context, "in other layouts", [&](const Trial& trial) {
    const auto got = run_plain(trial, step_of(trial));
    for (const PluginCombination& c : context.op.declaration.combinations) {
      const bool other = &c != &context.combination && c.device == OCTET_DEVICE_HOST;
      if (!other || !c.means_same(context.combination)) continue;
      Trial twin = trial;
      twin.combination = &c;
      same_results(
          trial, got, run_plain(twin, step_of(twin)),
          fmt::format("differs from that of combination '{}', which takes the same numbers", c.name)
              .c_str());
      ++others;
    }
  });
  return fmt::format("{} comparisons", others);
}

namespace {

// What one thread runs again and again, and what must come of it.
struct Runner {
  Trial trial;
  std::vector<Tensor> wanted;

  // The first output that is another one, or -1.
  int run(const PluginStep& step) const try {
    const std::vector<Tensor> got = run_plain(trial, step);
    for (size_t i = 0; i < got.size(); ++i) {
      if (first_difference(got[i], wanted[i]) >= 0) return static_cast<int>(i);
    }
    return -1;
  } catch (const Error&) {
    return 0;
  }
};

Runner runner_of(const CheckContext& context, const Trial& trial, u64 thread) {
  Runner runner{trial, {}};
  runner.trial.inputs =
      make_trial(context.op, context.combination, trial.of, context.seed + 1000 + thread).inputs;
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    if (context.op.declaration.input(i).constant) runner.trial.inputs[i] = trial.inputs[i];
  }
  runner.wanted = run_plain(runner.trial, step_of(trial));
  return runner;
}

// -1, or the output that was another one.
int run_together(const std::vector<Runner>& runners, const PluginStep& step) {
  std::atomic<int> wrong = -1;
  // Long enough for all of them to be started, and to be interrupted.
  const auto end = std::chrono::steady_clock::now() + kTogether;
  std::barrier start(static_cast<std::ptrdiff_t>(runners.size()));
  std::vector<std::thread> threads;
  for (const Runner& runner : runners) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      while (wrong < 0 && std::chrono::steady_clock::now() < end) {
        if (const int output = runner.run(step); output >= 0) wrong = output;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

}  // namespace

std::string check_threads(const CheckContext& context) {
  if (!context.op.declaration.concurrent()) return "declared to run one at a time";
  const size_t count = for_each_trial(context, "on several threads", [&](const Trial& trial) {
    std::vector<Runner> runners;
    for (int t = 0; t < context.threads; ++t)
      runners.push_back(runner_of(context, trial, static_cast<u64>(t)));
    const int wrong = run_together(runners, step_of(trial));
    if (wrong >= 0)
      fail(kWrong, "{}: output '{}' is another one while other threads run the same instance",
           trial.text(), context.op.declaration.output(static_cast<size_t>(wrong)).name);
  });
  return fmt::format("{} cases, {} threads for {} ms each", count, context.threads,
                     kTogether.count());
}

std::string check_leaks(const CheckContext& context) {
  constexpr s64 kWarm = 64, kRuns = 512;
  const auto live = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<s64>(info.uordblks + info.hblkhd);
  };
  const CheckCase from = cases_of(context.op, context.seed).front();
  const Trial trial = make_trial(context.op, context.combination, from, context.seed);
  note_stage("looking for leaks, " + trial.text());
  const auto once = [&] {
    Trial own = trial;
    own.of.node.op = &context.op.real;
    const PluginInstance instance(context.op, own.of.node);
    instance.state();
    run_plain(own, step_of(own));
  };
  for (s64 i = 0; i < kWarm; ++i) once();
  const s64 before = live();
  for (s64 i = 0; i < kRuns; ++i) once();
  const s64 grown = live() - before;
  // What is leaked at every turn is at least a byte, which malloc makes 32.
  if (grown >= kRuns * 16)
    fail(kWrong, "memory grows by {} bytes for each instance that is made, run and destroyed",
         grown / kRuns);
  return fmt::format("{} instances", kWarm + kRuns);
}

}  // namespace octet
