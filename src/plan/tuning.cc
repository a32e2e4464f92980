// SPDX-License-Identifier: Apache-2.0
#include "plan/tuning.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "graph/op_def.h"

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
  const char* how = asked.constant(i) != nullptr       ? " const"
                    : asked.layouts[i] == Layout::nhwc ? " nhwc"
                                                       : "";
  return to_string(asked.inputs[i]) + how;
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
  static const std::string cpu = cpu_identity();
  return {cpu, std::string(isa_name(asked.target.isa)), asked.target.threads,
          layer_signature(asked)};
}

const TunedKernel* Tuning::find(const TuningKey& key) const {
  const auto at = kernels_.find(key);
  return at == kernels_.end() ? nullptr : &at->second;
}

std::string cpu_identity() {
  u32 registers[12] = {};
  u32 a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return "unknown";
  const u32 vendor[] = {b, d, c};
  std::string text(reinterpret_cast<const char*>(vendor), sizeof(vendor));
  __get_cpuid(1, &a, &b, &c, &d);
  text += fmt::format(" {:08x}", a);
  for (u32 i = 0; i < 3; ++i) {
    u32* r = registers + 4 * i;
    if (__get_cpuid(0x80000002u + i, r, r + 1, r + 2, r + 3) == 0) return text;
  }
  char name[sizeof(registers) + 1] = {};
  std::memcpy(name, registers, sizeof(registers));
  const std::string_view trimmed(name);
  const size_t first = trimmed.find_first_not_of(' ');
  if (first == std::string_view::npos) return text;
  text += " ";
  text += trimmed.substr(first, trimmed.find_last_not_of(' ') - first + 1);
  return text;
}

}  // namespace octet
