// SPDX-License-Identifier: Apache-2.0
#include "plugin/check_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/check.h"
#include "core/rounding.h"

namespace octet {
namespace {

constexpr s64 kMostElements = s64{1} << 20;

const PluginFormat& format_of(const std::vector<PluginFormat>& formats, size_t tensor) {
  return formats[std::min(tensor, formats.size() - 1)];
}

Node node_of(const PluginOp& op, const Attrs& attrs, size_t inputs) {
  Node node;
  node.op = &op.real;
  node.name = "checked";
  for (size_t i = 0; i < inputs; ++i) node.inputs.push_back(static_cast<ValueId>(i));
  const size_t outputs = op.declaration.outputs.size();
  for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(static_cast<ValueId>(inputs + i));
  node.attrs = attrs;
  return node;
}

std::string shapes_text(std::span<const Shape> shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : ", ") + to_string(shape);
  return text;
}

void fill_reals(std::span<f32> to, std::mt19937_64& random) {
  std::normal_distribution<f32> normal(0.0f, 2.0f);
  for (f32& x : to) x = normal(random);
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

// Parameters under which these reals have all codes.
void fit(PortCodes& port, const Tensor& real) {
  f32 low = 0, high = 0;
  for (f32 x : real.as<f32>()) {
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

bool accepts(const PluginOp& op, const CheckCase& from) {
  const PluginCombination* reals = op.declaration.reals();
  const PluginCombination& c = reals != nullptr ? *reals : op.declaration.combinations[0];
  try {
    make_trial(op, c, from, 1);
    return true;
  } catch (const Error& error) {
    if (error.code() == Error::Code::invalid_model) return false;
    throw;
  }
}

bool is_small(std::span<const Shape> shapes) {
  return std::ranges::all_of(shapes, [](const Shape& s) { return s.elements() <= kMostElements; });
}

// One dimension, that several inputs may share, otherwise: batches of 1 and 3, odd sizes.
void add_variants(const PluginOp& op, const CheckCase& from, std::vector<CheckCase>& cases) {
  for (const s64 batch : {s64{1}, s64{3}}) {
    CheckCase other = from;
    for (Shape& shape : other.inputs) {
      if (shape.rank() > 1) shape[0] = batch;
    }
    other.text = shapes_text(other.inputs);
    const auto same = [&](const CheckCase& c) { return c.text == other.text; };
    if (std::ranges::none_of(cases, same) && accepts(op, other)) cases.push_back(std::move(other));
  }
}

void add_generated(const PluginOp& op, std::mt19937_64& random, std::vector<CheckCase>& cases) {
  constexpr int kTries = 200;
  constexpr size_t kEnough = 8;
  const Declaration& d = op.declaration;
  std::uniform_int_distribution<s64> size(1, 9);
  for (int i = 0; i < kTries && cases.size() < kEnough; ++i) {
    std::vector<Shape> shapes;
    Shape first;
    for (const PluginPort& port : d.inputs) {
      std::uniform_int_distribution<int> rank(port.min_rank,
                                              std::max(port.min_rank, std::min(port.max_rank, 4)));
      Shape shape;
      for (int r = rank(random); r > 0; --r) shape.push_back(size(random));
      // Half of the tries have equal shapes.
      if (shapes.empty()) first = shape;
      if (i % 2 == 0 && first.rank() >= port.min_rank && first.rank() <= port.max_rank)
        shape = first;
      shapes.push_back(shape);
    }
    CheckCase made{node_of(op, checked_attributes(d, {}), shapes.size()), shapes,
                   shapes_text(shapes)};
    if (is_small(made.inputs) && accepts(op, made)) cases.push_back(std::move(made));
  }
}

bool has_defaults(const Declaration& d) {
  return std::ranges::all_of(d.attributes,
                             [](const PluginAttribute& a) { return a.otherwise.has_value(); });
}

void transpose_if(const PluginFormat& format, const Tensor& from, Tensor& to, bool to_nhwc) {
  const Shape& s = from.shape();
  if (format.layout != OCTET_LAYOUT_NHWC || s.rank() != 4) {
    to = from;
    return;
  }
  to = Tensor(from.dtype(), s);
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
}

}  // namespace

std::vector<CheckCase> cases_of(const PluginOp& op, u64 seed) {
  std::mt19937_64 random(seed);
  std::vector<CheckCase> cases;
  for (const PluginCase& example : op.declaration.cases) {
    CheckCase made{node_of(op, example.attributes, example.inputs.size()), example.inputs,
                   shapes_text(example.inputs)};
    if (!accepts(op, made))
      fail(Error::Code::invalid_argument, "the shape rule refuses the plugin's own example {}",
           made.text);
    cases.push_back(made);
    add_variants(op, made, cases);
  }
  if (cases.empty() && has_defaults(op.declaration)) add_generated(op, random, cases);
  if (cases.empty())
    fail(Error::Code::invalid_argument,
         "no shapes were found that the shape rule accepts; give an example (octet_plugin_case)");
  return cases;
}

PluginStep step_of(const Trial& trial) {
  PluginStep::Tensors tensors;
  tensors.outputs = trial.outputs;
  for (const Tensor& input : trial.inputs) tensors.inputs.push_back(input.type());
  tensors.constants.resize(trial.inputs.size());
  return PluginStep(*trial.op, trial.of.node, trial.form, *trial.combination, std::move(tensors));
}

Trial make_trial(const PluginOp& op, const PluginCombination& combination, const CheckCase& from,
                 u64 seed) {
  std::mt19937_64 random(seed);
  const Declaration& d = op.declaration;
  Trial trial{&op, &combination, from, {}, {}, {}, {}};
  std::vector<TensorType> types;
  std::vector<const Tensor*> values;
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    const PluginFormat& format = format_of(combination.inputs, i);
    trial.form.inputs.push_back(random_codes(format, from.inputs[i], d.commutes(), random));
    trial.inputs.push_back(random_tensor(*dtype_of(format.type), from.inputs[i], random));
    types.push_back(trial.inputs.back().type());
  }
  for (size_t i = 0; i < from.inputs.size(); ++i)
    values.push_back(d.input(i).constant ? &trial.inputs[i] : nullptr);
  for (size_t i = 0; i < from.node.outputs.size(); ++i)
    trial.form.outputs.push_back(
        random_codes(format_of(combination.outputs, i), {}, d.commutes(), random));
  const std::vector<Shape> shapes = plugin_shapes(op, from.node, trial.form, types, values);
  for (size_t i = 0; i < shapes.size(); ++i) {
    trial.outputs.push_back({trial.form.outputs[i].stored, shapes[i]});
    if (shapes[i].elements() > kMostElements * 16)
      fail(Error::Code::invalid_model, "a result of {} elements is too large to check",
           shapes[i].elements());
  }
  return trial;
}

std::vector<Tensor> run_plain(const Trial& trial, const PluginStep& step) {
  std::vector<Tensor> inputs, own, results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    transpose_if(format_of(trial.combination->inputs, i), trial.inputs[i], inputs.emplace_back(),
                 true);
    in.push_back(inputs.back().data());
  }
  for (const TensorType& type : trial.outputs) {
    own.emplace_back(type.dtype, type.shape);
    out.push_back(own.back().mutable_data());
  }
  Tensor workspace(Dtype::u8, Shape{step.workspace_bytes()});
  step.run(in.data(), out.data(), workspace.mutable_data(), {});
  for (size_t i = 0; i < own.size(); ++i)
    transpose_if(format_of(trial.combination->outputs, i), own[i], results.emplace_back(), false);
  return results;
}

std::vector<Tensor> run_guarded(const Trial& trial, const PluginStep& step,
                                const RunMemory& memory) {
  const Declaration& d = trial.op->declaration;
  std::vector<std::unique_ptr<GuardedMemory>> in_memory, out_memory;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    Tensor input;
    transpose_if(format_of(trial.combination->inputs, i), trial.inputs[i], input, true);
    auto& guarded = *in_memory.emplace_back(std::make_unique<GuardedMemory>(
        static_cast<s64>(input.bytes()), "input '" + d.input(i).name + "'", memory.at));
    if (input.bytes() > 0) std::memcpy(guarded.data(), input.data(), input.bytes());
    guarded.forbid_writing();
    in.push_back(guarded.data());
  }
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    auto& guarded = *out_memory.emplace_back(std::make_unique<GuardedMemory>(
        trial.outputs[i].bytes(), "output '" + d.output(i).name + "'", memory.at));
    guarded.fill(memory.poison);
    out.push_back(guarded.data());
  }
  const GuardedMemory workspace(step.workspace_bytes(), "the workspace", memory.at);
  workspace.fill(memory.poison);
  step.run(in.data(), out.data(), workspace.data(), {});
  std::vector<Tensor> results;
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    if (!out_memory[i]->slack_is_untouched())
      fail(Error::Code::invalid_argument, "it writes beside output '{}'", d.output(i).name);
    Tensor own(trial.outputs[i].dtype, trial.outputs[i].shape);
    if (own.bytes() > 0) std::memcpy(own.mutable_data(), out_memory[i]->data(), own.bytes());
    transpose_if(format_of(trial.combination->outputs, i), own, results.emplace_back(), false);
  }
  if (!workspace.slack_is_untouched())
    fail(Error::Code::invalid_argument, "it writes beside the workspace that it asked for");
  return results;
}

PortCodes Trial::meaning(PortCodes port) const {
  constexpr f32 kScale = 0.5f;
  constexpr s32 kZeroPoint = 100;
  if (!op->declaration.commutes() || !port.is_codes()) return port;
  port.scales = {kScale};
  port.zero_point = kZeroPoint;
  return port;
}

void measure_reals(Trial& trial) {
  const PluginCombination* reals = trial.op->declaration.reals();
  if (reals == nullptr) return;
  Trial real{trial.op, reals, trial.of, {}, {}, {}, {}};
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    const PluginFormat& format = format_of(reals->inputs, i);
    real.form.inputs.push_back({format, *dtype_of(format.type), {}, 0});
    const bool codes = trial.form.inputs[i].is_codes();
    real.inputs.push_back(codes ? dequantized(trial.inputs[i], trial.meaning(trial.form.inputs[i]))
                                : trial.inputs[i]);
  }
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    const PluginFormat& format = format_of(reals->outputs, i);
    real.form.outputs.push_back({format, *dtype_of(format.type), {}, 0});
    real.outputs.push_back({real.form.outputs.back().stored, trial.outputs[i].shape});
  }
  trial.reals = run_plain(real, step_of(real));
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    PortCodes& port = trial.form.outputs[i];
    if (port.is_codes() && !trial.op->declaration.commutes()) fit(port, trial.reals[i]);
  }
}

}  // namespace octet
