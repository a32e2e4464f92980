// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/engine/plan_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "octet/attachment.h"
#include "octet/error.h"
#include "tensorrt/plugins/json.h"
#include "tensorrt/plugins/operator.h"

namespace octet_trt {
namespace {

using nlohmann::json;

[[noreturn]] void damaged(const std::string& why) {
  throw octet::Error(octet::Error::Code::invalid_model,
                     "what the plan says of itself is damaged: " + why);
}

// Types by name, since levels number them alike today and nobody promises it.
DataType type_of(const std::string& name) {
  for (int32_t i = 0; i < EnumMax<DataType>(); ++i)
    if (name == name_of(static_cast<DataType>(i))) return static_cast<DataType>(i);
  return DataType::kINT32;  // of a level that knows more: 64-bit integers at level 8
}

octet::TensorRtBinding written(const BindingInfo& binding) {
  return {binding.name,
          binding.onnx,
          binding.is_input,
          name_of(binding.type),
          binding.dims,
          binding.scale,
          static_cast<int32_t>(binding.format),
          binding.on_host};
}

BindingInfo binding_from(const octet::TensorRtBinding& read) {
  if (read.format >= EnumMax<TensorFormat>()) damaged("the format of " + read.name);
  BindingInfo binding;
  binding.name = read.name;
  binding.onnx = read.value;
  binding.is_input = read.is_input;
  binding.type = type_of(read.type);
  binding.dims = read.dims;
  binding.scale = read.scale;
  binding.format = static_cast<TensorFormat>(read.format);
  binding.on_host = read.on_host;
  return binding;
}

BindingInfo own_binding(const octet::TensorInfo& tensor, bool is_input) {
  BindingInfo binding;
  binding.name = binding.onnx = tensor.name;
  binding.is_input = is_input;
  binding.type = to_trt(tensor.type.dtype);
  if (tensor.type.shape.is_unknown()) return binding;
  for (const int64_t size : tensor.type.shape) binding.dims.push_back(std::max<int64_t>(size, -1));
  return binding;
}

void take_own_bindings(PlanInfo& info, const octet::Engine& engine) {
  for (const auto& input : engine.inputs()) info.bindings.push_back(own_binding(input, true));
  for (const auto& output : engine.outputs()) info.bindings.push_back(own_binding(output, false));
}

// Clients make memory for the type that they are told: it is the engine's, but for codes of reals.
void check_types(const PlanInfo& info, const octet::Engine& engine) {
  const auto inputs = engine.inputs(), outputs = engine.outputs();
  for (size_t i = 0; i < info.bindings.size(); ++i) {
    const BindingInfo& binding = info.bindings[i];
    const octet::Dtype own =
        (i < inputs.size() ? inputs[i] : outputs[i - inputs.size()]).type.dtype;
    const bool coded = binding.scale != 0 && binding.type == DataType::kINT8;
    if (own == (coded ? octet::Dtype::f32 : to_octet(binding.type))) continue;
    throw octet::Error(octet::Error::Code::unsupported,
                       "'" + binding.name + "' is of type " + std::string(dtype_name(own)) +
                           ", which clients of this level have no type for");
  }
}

// Reads a part; what the JSON lacks is an error of the plan.
template <class Work>
auto reading(const Work& work) {
  try {
    return work();
  } catch (const json::exception& error) {
    damaged(error.what());
  }
}

// Takes the states off the rest.
std::vector<PluginRecord> take_plugins(octet::TensorRtPlan& plan) {
  return reading([&] {
    std::vector<PluginRecord> plugins;
    std::string_view rest = plan.rest;
    for (const json& value : json::parse(plan.plugins)) {
      plugins.push_back(plugin_from(value));
      const size_t bytes = state_bytes(value);
      if (bytes > rest.size()) damaged("the state of a plugin");
      plugins.back().state = rest.substr(0, bytes);
      rest.remove_prefix(bytes);
      if (plugins.back().key != key_of(plugins.back())) damaged("the key of a plugin");
    }
    plan.rest = std::string(rest);
    return plugins;
  });
}

octet::TensorRtPlan written(const PlanInfo& info) {
  octet::TensorRtPlan plan;
  plan.name = info.name;
  plan.implicit_batch = info.implicit_batch;
  plan.max_batch = info.max_batch;
  plan.verbosity = static_cast<int32_t>(info.verbosity);
  plan.refittable = info.refittable;
  for (const BindingInfo& binding : info.bindings) plan.bindings.push_back(written(binding));
  plan.profiles = info.profiles;
  plan.debug_tensors = info.debug_tensors;
  plan.tuning = info.tuning;
  plan.refit_options = info.refit_options;
  json plugins = json::array();
  for (const PluginRecord& plugin : info.plugins) {
    plugins.push_back(to_json(plugin));
    plan.rest += plugin.state;
  }
  plan.plugins = plugins.dump(-1, ' ', false, json::error_handler_t::replace);
  plan.rest += info.refit_model;
  return plan;
}

PlanInfo read(octet::TensorRtPlan plan) {
  PlanInfo info;
  info.name = plan.name;
  info.implicit_batch = plan.implicit_batch;
  info.max_batch = plan.max_batch;
  info.verbosity = plan.verbosity;
  info.refittable = plan.refittable;
  for (const octet::TensorRtBinding& binding : plan.bindings)
    info.bindings.push_back(binding_from(binding));
  info.profiles = plan.profiles;
  info.debug_tensors = plan.debug_tensors;
  info.tuning = plan.tuning;
  info.refit_options = plan.refit_options;
  info.plugins = take_plugins(plan);
  info.refit_model = std::move(plan.rest);
  return info;
}

}  // namespace

octet::Engine with_plan_info(const octet::Engine& engine, const PlanInfo& info) {
  const octet::TensorRtPlan plan = written(info);
  check_plan(plan, engine);
  const std::string bytes = to_bytes(plan);
  return octet::with_attachment(engine, std::as_bytes(std::span(bytes)));
}

PlanInfo plan_info(const octet::Engine& engine) {
  std::optional<octet::TensorRtPlan> plan = octet::tensorrt_plan(engine);
  PlanInfo info = plan ? read(std::move(*plan)) : PlanInfo();
  if (info.bindings.empty()) take_own_bindings(info, engine);
  check_types(info, engine);
  return info;
}

std::vector<PluginRecord> attached_plugins(std::span<const std::byte> attached) {
  std::optional<octet::TensorRtPlan> plan = octet::tensorrt_plan(attached);
  return plan ? take_plugins(*plan) : std::vector<PluginRecord>();
}

octet::Engine load_plan(std::span<const std::byte> plan) {
  for (const PluginRecord& plugin : attached_plugins(octet::attachment(plan)))
    declare_operator(plugin.signature);
  return octet::Engine::load(plan);
}

}  // namespace octet_trt
