// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <memory>

#include "plugin/check_trials.h"
#include "plugin/device_trial.h"

namespace octet {
namespace {

constexpr s64 kWarm = 64, kRuns = 512;
// What is leaked at every turn is at least a byte, which malloc makes 32.
constexpr s64 kMost = kRuns * 16;

s64 host_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<s64>(info.uordblks + info.hblkhd);
}

// Others use a device too: what is leaked is gone each time.
template <class Once>
void hold_device_memory(const CheckDevice& device, const Once& once) {
  constexpr int kTimes = 3;
  s64 grown = 0;
  for (int time = 0; time < kTimes; ++time) {
    const s64 before = device.free_bytes();
    for (s64 i = 0; i < kRuns; ++i) once();
    grown = before - device.free_bytes();
    if (grown < kMost) return;
  }
  fail(kWrong, "memory of {} grows by {} bytes for each instance that is made, run and destroyed",
       device.name(), grown / kRuns);
}

}  // namespace

std::string check_leaks(const CheckContext& context) {
  const CheckCase from = cases_of(context.op, context.seed).front();
  const Trial trial = make_trial(context.op, context.combination, from, context.seed);
  note_stage("looking for leaks, " + trial.text());
  std::unique_ptr<DeviceTrial> there;
  std::unique_ptr<CheckStream> stream;
  if (context.device != nullptr) {
    there = std::make_unique<DeviceTrial>(*context.device, trial, step_of(trial).workspace_bytes());
    stream = context.device->make_stream();
    there->fill(*stream, {});
  }
  const auto once = [&] {
    Trial own = trial;
    own.of.node.op = &context.op.real;
    PluginInstance instance(context.op, own.of.node);
    instance.state();
    instance.destroy();
    const PluginStep step = step_of(own);
    if (there == nullptr) {
      run_plain(own, step);
      return;
    }
    there->give(*stream, step);
    stream->synchronize();
  };
  for (s64 i = 0; i < kWarm; ++i) once();
  if (context.device != nullptr) hold_device_memory(*context.device, once);
  const s64 before = host_bytes();
  for (s64 i = 0; i < kRuns; ++i) once();
  const s64 grown = host_bytes() - before;
  if (grown >= kMost)
    fail(kWrong, "memory grows by {} bytes for each instance that is made, run and destroyed",
         grown / kRuns);
  return fmt::format("{} instances", kWarm + kRuns);
}

}  // namespace octet
