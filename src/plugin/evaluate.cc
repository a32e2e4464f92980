// SPDX-License-Identifier: Apache-2.0
#include "plugin/evaluate.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"

namespace octet {
namespace {

// Rank 4 between the order of the shape and N, H, W, C.
void transpose(const Shape& shape, size_t bytes, const std::byte* from, std::byte* to,
               bool to_nhwc) {
  const size_t channels = static_cast<size_t>(shape[1]),
               pixels = static_cast<size_t>(shape[2] * shape[3]);
  for (s64 n = 0; n < shape[0]; ++n) {
    const size_t image = static_cast<size_t>(n) * channels * pixels;
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = 0; p < pixels; ++p) {
        const size_t linear = (image + c * pixels + p) * bytes,
                     nhwc = (image + p * channels + c) * bytes;
        std::memcpy(to + (to_nhwc ? nhwc : linear), from + (to_nhwc ? linear : nhwc), bytes);
      }
    }
  }
}

// A model that gives a plugin codes is read before their parameters are looked for (passes/plugin_codes.cc); constants might be folded.
void check_scales(const CodesForm& form) {
  const auto lacks = [](const PortCodes& port) {
    return port.format.is_codes() && !port.is_codes();
  };
  if (std::ranges::any_of(form.inputs, lacks) || std::ranges::any_of(form.outputs, lacks))
    fail(Error::Code::unsupported, "a plugin's codes without a scale cannot be evaluated");
}

bool wants_nhwc(const PluginFormat& format, const TensorType& type) {
  return format.layout == OCTET_LAYOUT_NHWC && type.shape.rank() == 4;
}

// A combination whose tensors lie as evaluation has them, or else any; null where the device has none.
const PluginCombination* combination_for(const PluginOp& op, const CodesForm& form, u32 device) {
  const PluginCombination* first = find_combination(op.declaration, form, device);
  if (first == nullptr) return nullptr;
  for (const PluginCombination& c : op.declaration.combinations) {
    const auto nhwc = [](const PluginFormat& f) { return f.layout != OCTET_LAYOUT_LINEAR; };
    if (c.device == device && c.means_same(*first) && std::ranges::none_of(c.inputs, nhwc) &&
        std::ranges::none_of(c.outputs, nhwc))
      return &c;
  }
  return first;
}

}  // namespace

CodesForm form_of(const Node& node, std::span<const TensorType> inputs) {
  if (is_plugin_codes(node)) {
    CodesForm own = read_codes(node);
    check_inputs(own, inputs);
    return own;
  }
  const std::optional<CodesForm> moved = moved_form(node, inputs);
  CodesForm form = moved ? *moved : reals_form(node, inputs);
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    if (node.input(i) == kNoValue) form.inputs[i] = {};
  }
  form.outputs.resize(node.outputs.size(),
                      PortCodes(form.outputs.back()));  // one may stand for many
  return form;
}

void infer_plugin(Inference& inference) {
  const PluginOp& op = *plugin_of(inference.node);
  const CodesForm form = form_of(inference.node, inference.inputs);
  std::vector<const Tensor*> values;
  for (size_t i = 0; i < inference.inputs.size(); ++i) values.push_back(inference.value(i));
  const std::vector<PluginShape> shapes =
      plugin_shapes(op, inference.node, form, inference.inputs, values);
  for (size_t i = 0; i < shapes.size(); ++i)
    inference.output(form.outputs[i].stored, shapes[i].known());
}

namespace {

template <class From, class To>
void convert_elements(const Tensor& from, Tensor& to) {
  std::ranges::transform(from.as<From>(), to.mutable_as<To>().begin(),
                         [](From x) { return static_cast<To>(static_cast<f32>(x)); });
}

}  // namespace

Tensor kept_as(const Tensor& tensor, Dtype dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor other(dtype, tensor.shape());
  if (dtype == Dtype::f16) {
    convert_elements<f32, f16>(tensor, other);
  } else if (dtype == Dtype::bf16) {
    convert_elements<f32, bf16>(tensor, other);
  } else if (tensor.dtype() == Dtype::f16) {
    convert_elements<f16, f32>(tensor, other);
  } else if (tensor.dtype() == Dtype::bf16) {
    convert_elements<bf16, f32>(tensor, other);
  } else {
    OCTET_CHECK(dtype_bytes(dtype) == 1 && dtype_bytes(tensor.dtype()) == 1);
    constexpr std::byte kTop{0x80};
    std::transform(tensor.data(), tensor.data() + tensor.bytes(), other.mutable_data(),
                   [](std::byte code) { return code ^ kTop; });
  }
  return other;
}

namespace {

// Ports whose values are of another type than the plugin declares, as it declares them: halves, and where the step does not turn them itself,
// codes.
void store_as_declared(std::vector<PortCodes>& ports, std::vector<TensorType>& types,
                       bool turns_codes) {
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto declared = dtype_of(ports[i].format.type);
    if (!declared || types[i].dtype == *declared) continue;
    if (is_widened(ports[i].format, types[i].dtype)) types[i].dtype = *declared;
    if (!ports[i].is_codes() || !turns_codes) continue;
    ports[i].zero_point = ports[i].declared_zero_point();
    ports[i].stored = types[i].dtype = *declared;
  }
}

// The tensors of one evaluation as the combination has them: copies where the layout or the byte type is another, or where data tell a
// size.
class EvaluatedTensors {
 public:
  // `stored`: of each output, the type of its value.
  EvaluatedTensors(const Eval& eval, const PluginOp& op, const PluginCombination& combination,
                   std::vector<Dtype> stored)
      : eval_(eval), op_(op), combination_(combination), stored_(std::move(stored)) {}

  void take_input(size_t i, const TensorType& as) {
    const ConstView& v = eval_.inputs[i];
    in.push_back(v.data);
    if (!v) return;
    const bool nhwc = wants_nhwc(format_of(combination_.inputs, i), as);
    if (!nhwc && as.dtype == v.dtype) return;
    Tensor copy(v.dtype, v.shape);
    const auto* from = static_cast<const std::byte*>(v.data);
    if (nhwc)
      transpose(v.shape, dtype_bytes(v.dtype), from, copy.mutable_data(), true);
    else if (copy.bytes() > 0)
      std::memcpy(copy.mutable_data(), from, copy.bytes());
    copies_.push_back(kept_as(std::move(copy), as.dtype));
    in.back() = copies_.back().data();
  }

  void take_output(size_t i, const TensorType& most) {
    out.push_back(eval_.outputs[i].data);
    const bool sized = op_.declaration.output(i).data_sized;
    const bool converted = most.dtype != stored_[i];
    if (!sized && !converted && !wants_nhwc(format_of(combination_.outputs, i), most)) return;
    if (most.bytes() > eval_.max_bytes)
      fail(Error::Code::out_of_memory, "output '{}' may be of {} bytes; {} are allowed",
           op_.declaration.output(i).name, most.bytes(), eval_.max_bytes);
    own_.emplace_back(i, Tensor(most.dtype, most.shape));
    out.back() = own_.back().second.mutable_data();
  }

  void give_outputs(const std::vector<Shape>& sizes) {
    for (auto& [i, own] : own_) {
      const Tensor tensor = kept_as(std::move(own), stored_[i]);
      const TensorType type{stored_[i], sizes[i]};
      const MutableView to =
          eval_.outputs[i].data != nullptr ? eval_.outputs[i] : eval_.make(i, type);
      auto* data = static_cast<std::byte*>(to.data);
      if (wants_nhwc(format_of(combination_.outputs, i), type))
        transpose(type.shape, dtype_bytes(type.dtype), tensor.data(), data, false);
      else if (type.bytes() > 0)
        std::memcpy(data, tensor.data(), static_cast<size_t>(type.bytes()));
    }
  }

  std::vector<const void*> in;
  std::vector<void*> out;

 private:
  const Eval& eval_;
  const PluginOp& op_;
  const PluginCombination& combination_;
  std::vector<Dtype> stored_;
  std::vector<Tensor> copies_;
  std::vector<std::pair<size_t, Tensor>> own_;
};

// Asks the shape rule where data tell a size: what was inferred does not say how much it is at most.
void set_outputs(const Eval& eval, const PluginOp& op, const CodesForm& form,
                 PluginStep::Tensors& tensors) {
  for (const MutableView& v : eval.outputs) tensors.outputs.push_back({v.dtype, v.shape});
  const auto sized = [](const PluginPort& port) { return port.data_sized; };
  if (std::ranges::none_of(op.declaration.outputs, sized)) return;
  std::vector<Tensor> constants(eval.inputs.size());
  std::vector<const Tensor*> values;
  for (size_t i = 0; i < eval.inputs.size(); ++i) {
    const ConstView& v = eval.inputs[i];
    const bool shown = v && op.declaration.input(i).constant;
    if (shown) {
      constants[i] = Tensor(v.dtype, v.shape);
      std::memcpy(constants[i].mutable_data(), v.data, constants[i].bytes());
    }
    values.push_back(shown ? &constants[i] : nullptr);
  }
  const std::vector<PluginShape> shapes =
      plugin_shapes(op, eval.node, form, tensors.inputs, values);
  for (size_t i = 0; i < shapes.size(); ++i) {
    tensors.outputs[i] = {form.outputs[i].stored, shapes[i].most};
    tensors.open.push_back(shapes[i].open);
  }
}

}  // namespace

bool is_for_host(const PluginOp& op, const CodesForm& form, std::span<const TensorType> inputs) {
  const auto empty = [](const TensorType& type) { return type.shape.elements() == 0; };
  return std::ranges::any_of(inputs, empty) &&
         find_combination(op.declaration, form, OCTET_DEVICE_HOST) != nullptr;
}

bool eval_plugin_by(const Eval& eval, const PluginRunner& runner) {
  const PluginOp& op = *plugin_of(eval.node);
  PluginStep::Tensors tensors;
  for (const ConstView& v : eval.inputs) tensors.inputs.push_back({v.dtype, v.shape});
  tensors.constants.resize(eval.inputs.size());
  CodesForm form = form_of(eval.node, tensors.inputs);
  check_scales(form);
  if (runner.device != OCTET_DEVICE_HOST && is_for_host(op, form, tensors.inputs)) return false;
  const PluginCombination* combination = combination_for(op, form, runner.device);
  if (combination == nullptr) return false;
  set_outputs(eval, op, form, tensors);
  std::vector<Dtype> stored;
  for (const PortCodes& port : form.outputs) stored.push_back(port.stored);
  const bool turns_codes = runner.device != OCTET_DEVICE_HOST;  // steps on the host do
  store_as_declared(form.inputs, tensors.inputs, turns_codes);
  store_as_declared(form.outputs, tensors.outputs, turns_codes);
  EvaluatedTensors evaluated(eval, op, *combination, std::move(stored));
  for (size_t i = 0; i < eval.inputs.size(); ++i) evaluated.take_input(i, tensors.inputs[i]);
  for (size_t i = 0; i < eval.outputs.size(); ++i) evaluated.take_output(i, tensors.outputs[i]);
  const PluginStep step(op, eval.node, form, *combination, std::move(tensors));
  evaluated.give_outputs(runner.run(step, evaluated.in, evaluated.out));
  return true;
}

void eval_plugin_with(const Eval& eval, ThreadPool* pool) {
  const auto run = [pool](const PluginStep& step, std::span<const void* const> in,
                          std::span<void* const> out) {
    Tensor workspace(Dtype::u8, Shape{step.workspace_bytes()});
    std::vector<Shape> sizes;
    step.run(in.data(), out.data(), workspace.mutable_data(), {.pool = pool, .sizes = &sizes});
    return sizes;
  };
  if (!eval_plugin_by(eval, {OCTET_DEVICE_HOST, run}))
    fail(Error::Code::unsupported,
         "{} has no combination for these numbers on the host; calibration, comparison and engines "
         "on the CPU need one",
         plugin_of(eval.node)->declaration.full_name());
}

void eval_plugin(const Eval& eval) { eval_plugin_with(eval, nullptr); }

}  // namespace octet
