// SPDX-License-Identifier: Apache-2.0
#include "plugin/check_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "core/check.h"
#include "core/rounding.h"
#include "core/visit.h"
#include "plugin/evaluate.h"

namespace octet {
namespace {

template <class T>
void fill_reals(std::span<T> to, std::mt19937_64& random) {
  std::normal_distribution<f32> normal(0.0f, 2.0f);
  for (T& x : to) x = static_cast<T>(normal(random));
}

template <class T>
void fill_ints(std::span<T> to, std::mt19937_64& random, s64 low, s64 high) {
  std::uniform_int_distribution<s64> uniform(low, high);
  for (T& x : to) x = static_cast<T>(uniform(random));
}

// Numbers of their type; for codes all of them, for indices small ones.
Tensor random_tensor(Dtype dtype, const Shape& shape, std::mt19937_64& random) {
  Tensor tensor(dtype, shape);
  switch (dtype) {
    case Dtype::f32:
      fill_reals(tensor.mutable_as<f32>(), random);
      break;
    case Dtype::f16:
      fill_reals(tensor.mutable_as<f16>(), random);
      break;
    case Dtype::bf16:
      fill_reals(tensor.mutable_as<bf16>(), random);
      break;
    case Dtype::u8:
      fill_ints(tensor.mutable_as<u8>(), random, 0, 255);
      break;
    case Dtype::s8:
      fill_ints(tensor.mutable_as<s8>(), random, -128, 127);
      break;
    case Dtype::s32:
      fill_ints(tensor.mutable_as<s32>(), random, 0, 3);
      break;
    case Dtype::s64:
      fill_ints(tensor.mutable_as<s64>(), random, 0, 3);
      break;
    default:  // zeros are numbers of every type
      break;
  }
  return tensor;
}

PortCodes random_codes(const PluginFormat& format, const Shape& shape, bool moves,
                       std::mt19937_64& random) {
  PortCodes port;
  port.format = format;
  port.stored = *dtype_of(format.type);
  if (!format.is_codes()) return port;
  const bool channels = format.params == OCTET_PARAMS_PER_CHANNEL && format.axis < shape.rank();
  std::uniform_real_distribution<f32> scale(0.01f, 0.06f);
  port.scales.resize(channels ? static_cast<size_t>(shape[format.axis]) : 1);
  for (f32& s : port.scales) s = moves ? 1.0f : scale(random);
  if (format.symmetric || moves) return port;
  std::uniform_int_distribution<s32> zero(-64, 64);
  port.zero_point = zero(random) + (port.stored == Dtype::u8 ? 128 : 0);
  return port;
}

s32 code_of(const Tensor& codes, s64 i) {
  return codes.dtype() == Dtype::u8 ? s32{codes.as<u8>()[static_cast<size_t>(i)]}
                                    : s32{codes.as<s8>()[static_cast<size_t>(i)]};
}

Tensor dequantized(const Tensor& codes, const PortCodes& port) {
  Tensor real(Dtype::f32, codes.shape());
  s64 inner = 1;
  const bool channels = port.scales.size() > 1;
  for (int d = port.format.axis + 1; channels && d < codes.shape().rank(); ++d)
    inner *= codes.shape()[d];
  const auto to = real.mutable_as<f32>();
  for (s64 i = 0; i < codes.elements(); ++i) {
    const size_t channel = channels ? static_cast<size_t>(i / inner) % port.scales.size() : 0;
    to[static_cast<size_t>(i)] =
        port.scales[channel] * static_cast<f32>(code_of(codes, i) - port.zero_point);
  }
  return real;
}

// Between the memory of both layouts; other formats than nhwc of rank 4 stay as they are.
Tensor transposed(const PluginFormat& format, const Tensor& from, bool to_nhwc) {
  const Shape& s = from.shape();
  if (format.layout != OCTET_LAYOUT_NHWC || s.rank() != 4) return from;
  Tensor to(from.dtype(), s);
  const size_t bytes = dtype_bytes(from.dtype());
  const s64 pixels = s[2] * s[3];
  for (s64 n = 0; n < s[0]; ++n) {
    for (s64 c = 0; c < s[1]; ++c) {
      for (s64 p = 0; p < pixels; ++p) {
        const size_t linear = static_cast<size_t>((n * s[1] + c) * pixels + p) * bytes,
                     nhwc = static_cast<size_t>((n * pixels + p) * s[1] + c) * bytes;
        std::memcpy(to.mutable_data() + (to_nhwc ? nhwc : linear),
                    from.data() + (to_nhwc ? linear : nhwc), bytes);
      }
    }
  }
  return to;
}

// The same numbers as the float evaluation takes them.
Tensor as_reals(const Tensor& numbers, Dtype dtype) {
  const bool real = dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
  if (numbers.dtype() == dtype || !real) return numbers;
  Tensor reals(dtype, numbers.shape());
  for (s64 i = 0; i < numbers.elements(); ++i) {
    const auto at = static_cast<size_t>(i);
    const f32 x = static_cast<f32>(value_at(numbers, i));
    if (dtype == Dtype::f32) reals.mutable_as<f32>()[at] = x;
    if (dtype == Dtype::f16) reals.mutable_as<f16>()[at] = static_cast<f16>(x);
    if (dtype == Dtype::bf16) reals.mutable_as<bf16>()[at] = static_cast<bf16>(x);
  }
  return reals;
}

}  // namespace

void fit_codes(PortCodes& port, const Tensor& real) {
  f32 low = 0, high = 0;
  for (s64 i = 0; i < real.elements(); ++i) {
    const f32 x = static_cast<f32>(value_at(real, i));
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  if (port.format.symmetric) {
    port.scales = {std::max(std::max(-low, high) / 127, 1e-6f)};
    return;
  }
  const f32 scale = std::max((high - low) / 255, 1e-6f);
  port.scales = {scale};
  port.zero_point =
      static_cast<s32>(std::nearbyint(-low / scale)) - (port.stored == Dtype::s8 ? 128 : 0);
}

Tensor to_layout(const PluginFormat& format, const Tensor& linear) {
  return transposed(format, linear, true);
}

Tensor from_layout(const PluginFormat& format, const Tensor& laid) {
  return transposed(format, laid, false);
}

Tensor result_of(const Trial& trial, size_t i, const std::byte* data, const Shape& size) {
  Tensor own(trial.outputs[i].dtype, size);
  if (own.bytes() > 0) std::memcpy(own.mutable_data(), data, own.bytes());
  return from_layout(format_of(trial.combination->outputs, i), own);
}

f64 value_at(const Tensor& tensor, s64 i) {
  return visit_dtype(tensor.dtype(), [&]<class T>() -> f64 {
    const T value = tensor.as<T>()[static_cast<size_t>(i)];
    if constexpr (std::is_class_v<T>)  // 16-bit floats
      return static_cast<f32>(value);
    else
      return static_cast<f64>(value);
  });
}

bool can_occur(const Trial& trial) {
  const std::vector<PluginFormat>& formats = trial.combination->inputs;
  std::vector<TensorType> types;
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    const Shape& shape = trial.inputs[i].shape();
    const PluginFormat& f = format_of(formats, i);
    types.push_back(trial.inputs[i].type());
    if (trial.of.omits(i)) continue;
    if (f.params == OCTET_PARAMS_PER_CHANNEL && f.axis < shape.rank() && shape[f.axis] == 0)
      return false;
  }
  return trial.combination->device == OCTET_DEVICE_HOST ||
         !is_for_host(*trial.op, trial.form, types);
}

PluginStep step_of(const Trial& trial) {
  PluginStep::Tensors tensors;
  tensors.outputs = trial.outputs;
  tensors.open = trial.open;
  for (const Tensor& input : trial.inputs) tensors.inputs.push_back(input.type());
  tensors.constants.resize(trial.inputs.size());
  return PluginStep(*trial.op, trial.of.node, trial.form, *trial.combination, std::move(tensors));
}

Trial make_trial(const PluginOp& op, const PluginCombination& combination, const CheckCase& from,
                 u64 seed) {
  std::mt19937_64 random(seed);
  const Declaration& d = op.declaration;
  Trial trial{&op, &combination, from, {}, {}, {}, {}, {}};
  std::vector<TensorType> types;
  std::vector<const Tensor*> values;
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    const bool omitted = from.omits(i);
    const PluginFormat format = omitted ? PluginFormat{} : format_of(combination.inputs, i);
    trial.form.inputs.push_back(
        omitted ? PortCodes{} : random_codes(format, from.inputs[i], d.commutes(), random));
    trial.inputs.push_back(omitted ? Tensor()
                                   : random_tensor(*dtype_of(format.type), from.inputs[i], random));
    types.push_back(trial.inputs.back().type());
  }
  for (size_t i = 0; i < from.inputs.size(); ++i)
    values.push_back(d.input(i).constant && !from.omits(i) ? &trial.inputs[i] : nullptr);
  for (size_t i = 0; i < from.node.outputs.size(); ++i)
    trial.form.outputs.push_back(
        random_codes(format_of(combination.outputs, i), {}, d.commutes(), random));
  const std::vector<PluginShape> shapes = plugin_shapes(op, from.node, trial.form, types, values);
  for (size_t i = 0; i < shapes.size(); ++i) {
    trial.outputs.push_back({trial.form.outputs[i].stored, shapes[i].most});
    trial.open.push_back(shapes[i].open);
    if (shapes[i].most.elements() > kMostCheckedElements * 16)
      fail(Error::Code::invalid_model, "a result of {} elements is too large to check",
           shapes[i].most.elements());
  }
  return trial;
}

std::vector<Tensor> run_plain(const Trial& trial, const PluginStep& step, ThreadPool* pool) {
  std::vector<Tensor> inputs, own, results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    inputs.push_back(to_layout(format_of(trial.combination->inputs, i), trial.inputs[i]));
    in.push_back(inputs.back().data());
  }
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    own.emplace_back(trial.outputs[i].dtype, trial.outputs[i].shape);
    out.push_back(trial.of.omits_result(i) ? nullptr : own.back().mutable_data());
  }
  Tensor workspace(Dtype::u8, Shape{step.workspace_bytes()});
  std::vector<Shape> sizes;
  step.run(in.data(), out.data(), workspace.mutable_data(), {.pool = pool, .sizes = &sizes});
  for (size_t i = 0; i < own.size(); ++i) {
    const bool read = !trial.of.omits_result(i);
    results.push_back(read ? result_of(trial, i, own[i].data(), sizes[i]) : unread());
  }
  return results;
}

namespace {

void hold_at_rest(const Trial& trial, const std::vector<std::unique_ptr<GuardedMemory>>& outputs,
                  const RunMemory& memory) {
  for (const auto& output : outputs) output->fill(memory.poison);
  std::this_thread::sleep_for(memory.rest);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (trial.of.omits_result(i)) continue;
    const std::byte* data = outputs[i]->data();
    if (std::any_of(data, data + outputs[i]->bytes(),
                    [&](std::byte b) { return b != memory.poison; }))
      fail(Error::Code::invalid_argument, "{}: it writes to output '{}' when it has returned",
           trial.text(), trial.op->declaration.output(i).name);
  }
}

}  // namespace

std::vector<Tensor> run_guarded(const Trial& trial, const PluginStep& step,
                                const RunMemory& memory) {
  const Declaration& d = trial.op->declaration;
  std::vector<std::unique_ptr<GuardedMemory>> in_memory, out_memory;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    const Tensor input = to_layout(format_of(trial.combination->inputs, i), trial.inputs[i]);
    const size_t bytes = trial.of.omits(i) ? 0 : input.bytes();
    auto& guarded = *in_memory.emplace_back(std::make_unique<GuardedMemory>(
        static_cast<s64>(bytes), "input '" + d.input(i).name + "'", memory.at));
    if (bytes > 0) std::memcpy(guarded.data(), input.data(), bytes);
    guarded.forbid_writing();
    in.push_back(trial.of.omits(i) ? nullptr : guarded.data());
  }
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    auto& guarded = *out_memory.emplace_back(std::make_unique<GuardedMemory>(
        trial.outputs[i].bytes(), "output '" + d.output(i).name + "'", memory.at));
    guarded.fill(memory.poison);
    out.push_back(trial.of.omits_result(i) ? nullptr : guarded.data());
  }
  const GuardedMemory workspace(step.workspace_bytes(), "the workspace", memory.at);
  workspace.fill(memory.poison);
  std::vector<Shape> sizes;
  step.run(in.data(), out.data(), workspace.data(), {.sizes = &sizes});
  std::vector<Tensor> results;
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    if (!out_memory[i]->slack_is_untouched())
      fail(Error::Code::invalid_argument, "it writes beside output '{}'", d.output(i).name);
    const bool read = !trial.of.omits_result(i);
    results.push_back(read ? result_of(trial, i, out_memory[i]->data(), sizes[i]) : unread());
  }
  if (!workspace.slack_is_untouched())
    fail(Error::Code::invalid_argument, "it writes beside the workspace that it asked for");
  if (memory.rest.count() > 0) hold_at_rest(trial, out_memory, memory);
  return results;
}

void mean_moved_codes(PortCodes& port) {
  constexpr f32 kScale = 0.5f;
  constexpr s32 kZeroPoint = 100;
  port.scales = {kScale};
  port.zero_point = kZeroPoint;
}

PortCodes Trial::meaning(PortCodes port) const {
  if (op->declaration.commutes() && port.is_codes()) mean_moved_codes(port);
  return port;
}

void measure_reals(Trial& trial) {
  const PluginCombination* reals = trial.op->declaration.reals();
  if (reals == nullptr) return;
  Trial real{trial.op, reals, trial.of, {}, {}, {}, trial.open, {}};
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    const PluginFormat& format = format_of(reals->inputs, i);
    if (trial.of.omits(i)) {
      real.form.inputs.emplace_back();
      real.inputs.emplace_back();
      continue;
    }
    real.form.inputs.push_back({format, *dtype_of(format.type), {}, 0});
    const PortCodes port = trial.meaning(trial.form.inputs[i]);
    real.inputs.push_back(
        as_reals(port.is_codes() ? dequantized(trial.inputs[i], port) : trial.inputs[i],
                 real.form.inputs[i].stored));
  }
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    const PluginFormat& format = format_of(reals->outputs, i);
    real.form.outputs.push_back({format, *dtype_of(format.type), {}, 0});
    real.outputs.push_back({real.form.outputs.back().stored, trial.outputs[i].shape});
  }
  trial.reals = run_plain(real, step_of(real));
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    PortCodes& port = trial.form.outputs[i];
    const bool fits = port.is_codes() && !trial.op->declaration.commutes();
    if (fits && !trial.of.omits_result(i)) fit_codes(port, trial.reals[i]);
  }
}

}  // namespace octet
