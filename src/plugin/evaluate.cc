// SPDX-License-Identifier: Apache-2.0
#include "plugin/evaluate.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "plugin/call.h"

namespace octet {
namespace {

bool is_byte(Dtype dtype) { return dtype == Dtype::u8 || dtype == Dtype::s8; }

// Codes that an operator moves without knowing their parameters: one combination for them, with parameters that mean nothing.
CodesForm moved_codes(const Declaration& d, std::span<const TensorType> inputs) {
  for (const PluginCombination& c : d.combinations) {
    if (!c.has_codes()) continue;
    CodesForm form;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const PluginFormat& f = c.inputs[Declaration::port_of(d.inputs, i)];
      form.inputs.push_back({f, inputs[i].dtype, {}, 0});
      if (f.is_codes()) form.inputs.back().scales = {1.0f};
    }
    for (const PluginFormat& f : c.outputs) {
      form.outputs.push_back({f, f.is_codes() ? inputs[0].dtype : *dtype_of(f.type), {}, 0});
      if (f.is_codes()) form.outputs.back().scales = {1.0f};
    }
    return form;
  }
  OCTET_CHECK(false);
  return {};
}

void set_outputs(Inference& inference, CodesForm form) {
  const PluginOp& op = *plugin_of(inference.node);
  while (form.outputs.size() < inference.node.outputs.size())
    form.outputs.push_back(form.outputs.back());
  std::vector<const Tensor*> values;
  for (size_t i = 0; i < inference.inputs.size(); ++i) values.push_back(inference.value(i));
  const std::vector<Shape> shapes =
      plugin_shapes(op, inference.node, form, inference.inputs, values);
  for (size_t i = 0; i < shapes.size(); ++i) inference.output(form.outputs[i].stored, shapes[i]);
}

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

// A plugin reads a scale for each channel: engine files and models may bring fewer.
void check_channels(const CodesForm& form, std::span<const TensorType> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PluginFormat& format = form.inputs[i].format;
    if (format.params != OCTET_PARAMS_PER_CHANNEL) continue;
    const Shape& shape = inputs[i].shape;
    const s64 scales = std::ssize(form.inputs[i].scales);
    if (format.axis < shape.rank() && shape[format.axis] == scales) continue;
    fail(Error::Code::invalid_model, "input {} is {}, and has {} scales for dimension {}", i,
         to_string(inputs[i]), scales, format.axis);
  }
}

bool wants_nhwc(const PluginFormat& format, const TensorType& type) {
  return format.layout == OCTET_LAYOUT_NHWC && type.shape.rank() == 4;
}

// A combination whose tensors lie as evaluation has them, or else any.
const PluginCombination& combination_for(const PluginOp& op, const CodesForm& form) {
  const PluginCombination* first = find_combination(op.declaration, form, OCTET_DEVICE_HOST);
  if (first == nullptr)
    fail(Error::Code::unsupported, "{} has no combination for these numbers on the host",
         op.declaration.full_name());
  for (const PluginCombination& c : op.declaration.combinations) {
    const auto nhwc = [](const PluginFormat& f) { return f.layout != OCTET_LAYOUT_LINEAR; };
    if (c.device == OCTET_DEVICE_HOST && c.means_same(*first) &&
        std::ranges::none_of(c.inputs, nhwc) && std::ranges::none_of(c.outputs, nhwc))
      return c;
  }
  return *first;
}

}  // namespace

CodesForm form_of(const Node& node, std::span<const TensorType> inputs) {
  const PluginOp& op = *plugin_of(node);
  if (is_plugin_codes(node)) {
    CodesForm own = read_codes(node);
    check_channels(own, inputs);
    return own;
  }
  const bool codes =
      op.real.quant.kind == QuantKind::move_codes && !inputs.empty() && is_byte(inputs[0].dtype);
  CodesForm form = codes ? moved_codes(op.declaration, inputs) : reals_form(op, inputs);
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    if (node.input(i) == kNoValue) form.inputs[i].format = {};
  }
  while (form.outputs.size() < node.outputs.size()) form.outputs.push_back(form.outputs.back());
  return form;
}

void infer_plugin_reals(Inference& inference) {
  set_outputs(inference, form_of(inference.node, inference.inputs));
}

void infer_plugin_codes(Inference& inference) {
  set_outputs(inference, read_codes(inference.node));
}

void eval_plugin(const Eval& eval) {
  const PluginOp& op = *plugin_of(eval.node);
  PluginStep::Tensors tensors;
  for (const ConstView& v : eval.inputs) tensors.inputs.push_back({v.dtype, v.shape});
  for (const MutableView& v : eval.outputs) tensors.outputs.push_back({v.dtype, v.shape});
  tensors.constants.resize(eval.inputs.size());
  const CodesForm form = form_of(eval.node, tensors.inputs);
  check_scales(form);
  const PluginCombination& combination = combination_for(op, form);
  std::vector<Tensor> copies;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < eval.inputs.size(); ++i) {
    const ConstView& v = eval.inputs[i];
    in.push_back(v.data);
    if (!v || !wants_nhwc(combination.inputs[Declaration::port_of(op.declaration.inputs, i)],
                          tensors.inputs[i]))
      continue;
    copies.emplace_back(v.dtype, v.shape);
    transpose(v.shape, dtype_bytes(v.dtype), static_cast<const std::byte*>(v.data),
              copies.back().mutable_data(), true);
    in.back() = copies.back().data();
  }
  std::vector<std::pair<size_t, Tensor>> turned;
  for (size_t i = 0; i < eval.outputs.size(); ++i) {
    const MutableView& v = eval.outputs[i];
    out.push_back(v.data);
    if (!wants_nhwc(combination.outputs[Declaration::port_of(op.declaration.outputs, i)],
                    tensors.outputs[i]))
      continue;
    turned.emplace_back(i, Tensor(v.dtype, v.shape));
    out.back() = turned.back().second.mutable_data();
  }
  const PluginStep step(op, eval.node, form, combination, std::move(tensors));
  Tensor workspace(Dtype::u8, Shape{step.workspace_bytes()});
  step.run(in.data(), out.data(), workspace.mutable_data(), {});
  for (const auto& [i, tensor] : turned) {
    const MutableView& v = eval.outputs[i];
    transpose(v.shape, dtype_bytes(v.dtype), tensor.data(), static_cast<std::byte*>(v.data), false);
  }
}

}  // namespace octet
