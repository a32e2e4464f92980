// SPDX-License-Identifier: Apache-2.0
// What the checks of a combination share: its trials, a run of one where the combination's pointers point, and what results are held to.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "core/check.h"
#include "plugin/check_case.h"
#include "plugin/check_run.h"
#include "plugin/isolated.h"

namespace octet {

inline constexpr auto kWrong = Error::Code::invalid_argument;
// How long calls that may run at the same time do.
inline constexpr std::chrono::milliseconds kTogether{200};
// And so often by each thread: where processors are busy with other things that time alone may be one thread's.
inline constexpr int kRunsTogether = 50;

enum class Reals { measured, unknown };
inline constexpr size_t kAllCases = std::numeric_limits<size_t>::max();
inline constexpr size_t kSomeCases = 3;  // of checks that take their time

template <class Body>
size_t for_each_trial(const CheckContext& context, const char* stage, const Body& body,
                      Reals reals = Reals::measured, size_t most = kAllCases) {
  size_t count = 0;
  for (const CheckCase& from : cases_of(context.op, context.seed)) {
    if (count == most) break;
    Trial trial = make_trial(context.op, context.combination, from, context.seed + count);
    if (!can_occur(trial)) continue;
    ++count;
    note_stage(fmt::format("{}, {}", stage, trial.text()));
    if (reals == Reals::measured) measure_reals(trial);
    body(trial);
  }
  return count;
}

// On the host between guard pages, on a device between margins.
std::vector<Tensor> run_trial(const CheckContext& context, const Trial& trial,
                              const PluginStep& step, const RunMemory& memory);
// On the host in plain memory.
std::vector<Tensor> run_trial(const CheckContext& context, const Trial& trial,
                              const PluginStep& step);

// The same with other data, constants apart: what is run beside it.
Trial twin_of(const CheckContext& context, const Trial& trial, u64 number);

// Whether an instance is made of these attributes, or refused with a sentence; throws Error where neither is so.
bool takes_instance(const PluginOp& op, const Node& node, const std::string& what);

// What a result may differ by: one code; of reals one 255th of their range; of other numbers, and codes that are moved, nothing.
struct Allowed {
  f64 error;
  const char* unit;
  bool allows(f64 value, f64 wanted) const;
};
Allowed allowed(bool commutes, bool codes, const Tensor& wanted);
// What a port should give where the float evaluation gives `real`.
f64 wanted_value(const PortCodes& port, f64 real);

// The first element that differs, or -1; of tensors of other sizes the first of all.
s64 first_difference(const Tensor& a, const Tensor& b);
// Throws where any output of two runs differs; `how` says what the difference between the runs was.
void same_results(const Trial& trial, const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                  const char* how);

}  // namespace octet
