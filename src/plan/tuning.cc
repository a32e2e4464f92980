// SPDX-License-Identifier: Apache-2.0
#include "plan/tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/op_def.h"
#include "plan/device.h"
#include "plan/format.h"

namespace octet {
namespace {

struct AttrText {
  std::string operator()(s64 value) const { return fmt::format("{}", value); }
  std::string operator()(f32 value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const Tensor& tensor) const { return to_string(tensor.type()); }
  std::string operator()(const GraphPtr&) const { return "graph"; }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return fmt::format("[{}]", fmt::join(values, ","));
  }
};

std::string input_text(const LowerRequest& asked, size_t i) {
  if (!asked.has_input(i)) return "_";
  if (asked.constant(i) != nullptr) return to_string(asked.inputs[i]) + " const";
  if (asked.layouts[i] == Layout::linear) return to_string(asked.inputs[i]);
  return fmt::format("{} {}", to_string(asked.inputs[i]), layout_name(asked.layouts[i]));
}

}  // namespace

std::string layer_signature(const LowerRequest& asked) {
  std::string text(asked.node.op->name);
  std::string separator = "{";
  for (const auto& [name, value] : asked.node.attrs.entries()) {
    text += separator + name + "=" + std::visit(AttrText{}, value);
    separator = ",";
  }
  if (separator == ",") text += "}";
  separator = "(";
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    text += separator + input_text(asked, i);
    separator = ", ";
  }
  separator = ") -> ";
  for (const TensorType& type : asked.outputs) {
    text += separator + to_string(type);
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
