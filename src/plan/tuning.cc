// SPDX-License-Identifier: Apache-2.0
#include "plan/tuning.h"

#include <fmt/format.h>

#include "graph/op_def.h"
#include "graph/text.h"
#include "plan/device.h"
#include "plan/format.h"

namespace octet {
namespace {

// As in the text of a graph; a body stands for itself.
std::string attribute_text(const AttrValue& value) {
  return std::holds_alternative<GraphPtr>(value) ? "graph" : print_attribute(value);
}

// Shapes, axes and the like decide what the layer does. Weights, scales and biases do not, and a choice outlives their change.
bool says_constant(const LowerRequest& asked, size_t i) {
  constexpr s64 kMost = 16;
  const TensorType& type = asked.inputs[i];
  const bool parameter = type.dtype == Dtype::f32 && asked.node.op->domain != "octet";
  return (type.dtype == Dtype::s64 || parameter) && type.shape.elements() <= kMost;
}

std::string input_text(const LowerRequest& asked, size_t i) {
  if (!asked.has_input(i)) return "_";
  const std::string type = to_string(asked.inputs[i]);
  if (const Tensor* constant = asked.constant(i))
    return type + " const" + (says_constant(asked, i) ? " " + print_elements(*constant) : "");
  if (asked.layouts[i] == Layout::linear) return type;
  return fmt::format("{} {}", type, layout_name(asked.layouts[i]));
}

}  // namespace

std::string layer_signature(const LowerRequest& asked) {
  std::string text(asked.node.op->name);
  std::string separator = "{";
  for (const auto& [name, value] : asked.node.attrs.entries()) {
    text += separator + name + "=" + attribute_text(value);
    separator = ",";
  }
  if (separator == ",") text += "}";
  separator = "(";
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    text += separator + input_text(asked, i);
    separator = ", ";
  }
  separator = ") -> ";
  for (size_t i = 0; i < asked.outputs.size(); ++i) {
    text += separator + (asked.node.outputs[i] == kNoValue ? "_" : to_string(asked.outputs[i]));
    separator = ", ";
  }
  return text;
}

TuningKey tuning_key(const LowerRequest& asked) {
  const Device& device = *asked.target.device;
  return {device.identity(), std::string(device.level()), asked.target.threads,
          layer_signature(asked)};
}

const TunedKernel* Tuning::find(const TuningKey& key) const {
  const auto at = kernels_.find(key);
  return at == kernels_.end() ? nullptr : &at->second;
}

std::string to_string(const KernelChoice& choice) {
  constexpr const char* kBy[] = {"", "by cost", "by order", "by tuning"};
  std::string text = kBy[static_cast<size_t>(choice.by)];
  if (choice.missing.empty()) return text;
  return fmt::format("{}{}the tuned kernel {} is not offered", text, text.empty() ? "" : "; ",
                     choice.missing);
}

}  // namespace octet
