// SPDX-License-Identifier: Apache-2.0
#include "plugin/check_trials.h"

#include <algorithm>
#include <cmath>

#include "core/rounding.h"
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

bool Allowed::allows(f64 value, f64 wanted) const {
  return std::fabs(value - wanted) <= error || value == wanted ||
         (std::isnan(value) && std::isnan(wanted));
}

Allowed allowed(bool commutes, bool codes, const Tensor& wanted) {
  if (commutes) return {0, "value"};
  if (codes) return {1, "code"};
  const Dtype dtype = wanted.dtype();
  if (dtype != Dtype::f32 && dtype != Dtype::f16 && dtype != Dtype::bf16) return {0, "value"};
  f64 low = 0, high = 0;
  for (s64 e = 0; e < wanted.elements(); ++e) {
    const f64 x = value_at(wanted, e);
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  return {std::max((high - low) / 255, 1e-6), "255th of the range"};
}

f64 wanted_value(const PortCodes& port, f64 real) {
  if (!port.is_codes()) return real;
  const bool u = port.stored == Dtype::u8;
  return quantize(static_cast<f32>(real), port.scales[0], port.zero_point, u ? 0 : -128,
                  u ? 255 : 127);
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
