// SPDX-License-Identifier: Apache-2.0
#include "plugin/check_run.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "octet/threads.h"
#include "plugin/check_trials.h"

namespace octet {
namespace {

// Throws for an element that differs by more, from what `whose` gives. The worst share of what is allowed.
template <class Wanted>
f64 hold_to(const Trial& trial, const std::vector<Tensor>& got, const std::vector<Tensor>& from,
            const std::string& whose, const Wanted& wanted_at) {
  f64 worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (trial.of.omits_result(i)) continue;
    if (got[i].shape() != from[i].shape())
      fail(kWrong, "{}: output '{}' is {}, {} gives {}", trial.text(),
           trial.op->declaration.output(i).name, to_string(got[i].shape()), whose,
           to_string(from[i].shape()));
    const Allowed most =
        allowed(trial.op->declaration.commutes(), trial.form.outputs[i].is_codes(), from[i]);
    for (s64 e = 0; e < got[i].elements(); ++e) {
      const f64 value = value_at(got[i], e), wanted = wanted_at(i, e);
      const f64 error = std::fabs(value - wanted);
      if (!most.allows(value, wanted))
        fail(kWrong, "{}: element {} of output '{}' is {}, {} gives {}: more than one {}",
             trial.text(), e, trial.op->declaration.output(i).name, value, whose, wanted,
             most.unit);
      if (most.error > 0 && value != wanted) worst = std::max(worst, error / most.error);
    }
  }
  return worst;
}

f64 wanted_at(const Trial& trial, size_t i, s64 e) {
  return wanted_value(trial.meaning(trial.form.outputs[i]), value_at(trial.reals[i], e));
}

}  // namespace

namespace {

// Nothing at all for tensors without elements.
void check_cost(const PluginStep& step) {
  const auto empty = [](const TensorType& type) { return type.shape.elements() == 0; };
  const bool free = std::ranges::any_of(step.tensors().inputs, empty);
  const f64 cost = step.own_cost().value_or(1);
  if (!std::isfinite(cost) || cost < 0 || (cost == 0 && !free))
    fail(kWrong, "cost returns {} cycles", cost);
}

template <class T>
void fill_edges(Tensor& tensor, std::initializer_list<T> edges) {
  size_t next = 0;
  for (T& x : tensor.mutable_as<T>()) x = edges.begin()[next++ % edges.size()];
}

// Numbers that no example has: a network, or who feeds it, may give them. A plugin may fail then, and must touch no other memory.
void run_edges(const Trial& trial) {
  using Floats = std::numeric_limits<f32>;
  constexpr s64 kFar = s64{1} << 40;
  Trial edge = trial;
  for (size_t i = 0; i < edge.inputs.size(); ++i) {
    Tensor& input = edge.inputs[i];
    if (edge.of.omits(i) || edge.op->declaration.input(i).constant) continue;
    input = input.clone();
    if (input.dtype() == Dtype::f32)
      fill_edges<f32>(input, {Floats::quiet_NaN(), 1e30f, -1e30f, Floats::infinity(),
                              -Floats::infinity(), 0.0f, -0.0f, Floats::denorm_min()});
    if (input.dtype() == Dtype::s64) fill_edges<s64>(input, {-1, kFar, -kFar, 0, 1 << 20});
    if (input.dtype() == Dtype::s32) fill_edges<s32>(input, {-1, 1 << 30, 0, 1 << 20});
  }
  note_stage("NaN, infinities and far integers, " + trial.text());
  try {
    run_guarded(edge, step_of(edge), {});
  } catch (const Error& error) {
    if (error.code() == kWrong) throw;
  }
}

}  // namespace

// Nothing runs outside of guarded memory here: what writes where it must not is found before it does harm.
std::string check_memory(const CheckContext& context) {
  constexpr std::chrono::milliseconds kRest{30};
  std::chrono::milliseconds rest = kRest;  // of the first case
  const auto body = [&](const Trial& trial) {
    const PluginStep step = step_of(trial);
    run_guarded(trial, step, {.at = GuardedMemory::At::end, .rest = std::exchange(rest, {})});
    run_guarded(trial, step, {GuardedMemory::At::start, std::byte{0xa5}});
    check_cost(step);
    run_edges(trial);
  };
  const size_t count = for_each_trial(context, "between guard pages", body, Reals::unknown);
  return fmt::format("{} cases, at both ends", count);
}

namespace {

// On several threads, which take the pieces of Call::parallel.
void run_in_pieces(const CheckContext& context, const Trial& trial,
                   const std::vector<Tensor>& wanted) {
  constexpr int kRounds = 16;
  const PluginStep step = step_of(trial);
  ThreadPool pool(context.threads);
  for (int round = 0; round < kRounds; ++round)
    same_results(trial, wanted, run_plain(trial, step, &pool),
                 "is another one where several threads take the pieces of `parallel`");
}

}  // namespace

std::string check_results(const CheckContext& context) {
  const size_t count = for_each_trial(context, "poisoned outputs", [&](const Trial& trial) {
    const PluginStep step = step_of(trial);
    const RunMemory memory;
    const auto first = run_trial(context, trial, step, memory);
    const auto again = run_trial(context, trial, step, memory);
    same_results(trial, first, again, "changes from run to run");
    const auto other = run_trial(context, trial, step, {memory.at, std::byte{0x5a}});
    same_results(trial, first, other,
                 "is not written, or depends on what lay in the outputs or the workspace before");
    same_results(trial, first, run_trial(context, trial, step_of(trial)),
                 "depends on where its memory lies");
    if (context.device == nullptr) run_in_pieces(context, trial, first);
  });
  return fmt::format("{} cases, in several runs each", count);
}

std::string check_against_reals(const CheckContext& context) {
  f64 worst = 0;
  const size_t count =
      for_each_trial(context, "against the float evaluation", [&](const Trial& trial) {
        const std::vector<Tensor> got = run_trial(context, trial, step_of(trial));
        const auto wanted = [&](size_t i, s64 e) { return wanted_at(trial, i, e); };
        worst = std::max(worst, hold_to(trial, got, trial.reals, "the float evaluation", wanted));
      });
  return fmt::format("{} cases, at most {:.2f} of what is allowed", count, worst);
}

namespace {

// Where both run on one device, the same bits; else as near as to reals.
void hold_to_other(const CheckContext& context, const Trial& trial, const std::vector<Tensor>& got,
                   const PluginCombination& other) {
  const bool same_device = other.device == context.combination.device;
  const CheckContext beside{context.op, other, context.threads, context.seed,
                            same_device ? context.device : nullptr};
  Trial twin = trial;
  twin.combination = &other;
  const std::vector<Tensor> wanted = run_trial(beside, twin, step_of(twin));
  const std::string name = fmt::format("combination '{}'", other.name);
  if (same_device)
    return same_results(
        trial, got, wanted,
        ("differs from that of " + name + ", which takes the same numbers").c_str());
  hold_to(trial, got, wanted, name + " on the host",
          [&](size_t i, s64 e) { return value_at(wanted[i], e); });
}

}  // namespace

std::string check_layouts(const CheckContext& context) {
  size_t others = 0;
  for_each_trial(context, "beside other combinations", [&](const Trial& trial) {
    const auto got = run_trial(context, trial, step_of(trial));
    for (const PluginCombination& c : context.op.declaration.combinations) {
      const bool runs = c.device == context.combination.device || c.device == OCTET_DEVICE_HOST;
      if (!runs || &c == &context.combination || !c.means_same(context.combination)) continue;
      hold_to_other(context, trial, got, c);
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
  Runner runner{twin_of(context, trial, thread), {}};
  runner.wanted = run_plain(runner.trial, step_of(trial));
  return runner;
}

// -1, or the output that was another one.
int run_together(const std::vector<Runner>& runners, const PluginStep& step) {
  std::atomic<int> wrong = -1;
  // Long enough for all of them to be started, and to be interrupted.
  const auto end = std::chrono::steady_clock::now() + kTogether;
  run_threads(static_cast<int>(runners.size()), [&](int i) {
    const Runner& runner = runners[static_cast<size_t>(i)];
    for (int runs = 0;
         wrong < 0 && (runs < kRunsTogether || std::chrono::steady_clock::now() < end); ++runs) {
      if (const int output = runner.run(step); output >= 0) wrong = output;
    }
  });
  return wrong;
}

}  // namespace

std::string check_threads(const CheckContext& context) {
  if (!context.op.declaration.concurrent()) return "declared to run one at a time";
  const size_t count = for_each_trial(
      context, "on several threads",
      [&](const Trial& trial) {
        std::vector<Runner> runners;
        for (int t = 0; t < context.threads; ++t)
          runners.push_back(runner_of(context, trial, static_cast<u64>(t)));
        const int wrong = run_together(runners, step_of(trial));
        if (wrong >= 0)
          fail(kWrong, "{}: output '{}' is another one while other threads run the same instance",
               trial.text(), context.op.declaration.output(static_cast<size_t>(wrong)).name);
      },
      Reals::measured, kSomeCases);
  return fmt::format("{} cases, {} threads for {} ms each at least", count, context.threads,
                     kTogether.count());
}

}  // namespace octet
