// SPDX-License-Identifier: Apache-2.0
#include "plugin/check_trials.h"

#include "plugin/device_trial.h"

namespace octet {

std::vector<Tensor> run_trial(const CheckContext& context, const Trial& trial,
                              const PluginStep& step, const RunMemory& memory) {
  return context.device != nullptr ? run_on_device(*context.device, trial, step, memory)
                                   : run_guarded(trial, step, memory);
}

std::vector<Tensor> run_trial(const CheckContext& context, const Trial& trial,
                              const PluginStep& step) {
  return context.device != nullptr ? run_on_device(*context.device, trial, step, {})
                                   : run_plain(trial, step);
}

Trial twin_of(const CheckContext& context, const Trial& trial, u64 number) {
  Trial twin = trial;
  twin.inputs =
      make_trial(context.op, context.combination, trial.of, context.seed + 1000 + number).inputs;
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    if (context.op.declaration.input(i).constant) twin.inputs[i] = trial.inputs[i];
  }
  return twin;
}

s64 first_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return 0;
  const size_t size = dtype_bytes(a.dtype());
  for (size_t at = 0; at < a.bytes(); ++at) {
    if (a.data()[at] != b.data()[at]) return static_cast<s64>(at / size);
  }
  return -1;
}

void same_results(const Trial& trial, const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                  const char* how) {
  for (size_t i = 0; i < a.size(); ++i) {
    const s64 at = first_difference(a[i], b[i]);
    if (at >= 0)
      fail(kWrong, "{}: element {} of output '{}' {}", trial.text(), at,
           trial.op->declaration.output(i).name, how);
  }
}

}  // namespace octet
