// SPDX-License-Identifier: Apache-2.0
#include "plan_info.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "octet/attachment.h"
#include "octet/error.h"
#include "plugin_json.h"
#include "plugin_operator.h"

namespace octet_trt {
namespace {

using nlohmann::json;

constexpr char kMagic[8] = {'O', 'C', 'T', 'T', 'R', 'T', '0', '1'};

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

json to_json(const BindingInfo& binding) {
  return {{"name", binding.name},
          {"value", binding.onnx},
          {"input", binding.is_input},
          {"type", name_of(binding.type)},
          {"dims", binding.dims},
          {"scale", binding.scale},
          {"format", static_cast<int>(binding.format)},
          {"host", binding.on_host}};
}

BindingInfo binding_from(const json& value) {
  BindingInfo binding;
  binding.name = value.at("name");
  binding.onnx = value.at("value");
  binding.is_input = value.at("input");
  binding.type = type_of(value.at("type"));
  binding.dims = value.at("dims").get<std::vector<int64_t>>();
  binding.scale = value.at("scale");
  const int format = value.at("format");
  if (format < 0 || format >= EnumMax<TensorFormat>()) damaged("the format of " + binding.name);
  binding.format = static_cast<TensorFormat>(format);
  binding.on_host = value.at("host");
  return binding;
}

PlanInfo from_json(const json& value) {
  PlanInfo info;
  info.name = value.at("name");
  info.implicit_batch = value.at("implicit");
  info.max_batch = value.at("max_batch");
  info.verbosity = value.at("verbosity");
  info.refittable = value.at("refittable");
  for (const json& binding : value.at("bindings")) info.bindings.push_back(binding_from(binding));
  for (const json& profile : value.at("profiles")) {
    info.profiles.push_back({profile.at("shapes").get<std::map<std::string, ProfileShapes>>(),
                             profile.at("values").get<std::map<std::string, ProfileShapes>>()});
  }
  info.debug_tensors = value.at("debug").get<std::vector<std::string>>();
  info.tuning = value.at("tuning");
  info.refit_options = value.at("refit");
  return info;
}

BindingInfo own_binding(const octet::TensorInfo& tensor, bool is_input) {
  BindingInfo binding;
  binding.name = binding.onnx = tensor.name;
  binding.is_input = is_input;
  binding.type = to_trt(tensor.type.dtype);
  if (!tensor.type.shape.is_unknown())
    binding.dims.assign(tensor.type.shape.begin(), tensor.type.shape.end());
  return binding;
}

// What both know. Sizes that one of them leaves open are settled when the engine runs.
bool fits(const std::vector<int64_t>& dims, const octet::Shape& shape) {
  if (shape.is_unknown()) return dims.size() <= Dims::MAX_DIMS;
  if (dims.size() != static_cast<size_t>(shape.rank())) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t size = shape[static_cast<int>(i)];
    if (dims[i] < -1 || (dims[i] >= 0 && size >= 0 && dims[i] != size)) return false;
  }
  return true;
}

// Every binding is a value of the engine, of its sizes; every profile tells of sizes of inputs.
void check(const ProfileInfo& profile, const BindingInfo& binding) {
  const auto at = profile.shapes.find(binding.name);
  if (at == profile.shapes.end()) return;
  for (const std::vector<int64_t>& dims : at->second)
    if (dims.size() != binding.dims.size()) damaged("a profile of " + binding.name);
}

void check(const PlanInfo& info, const octet::Engine& engine) {
  const auto inputs = engine.inputs(), outputs = engine.outputs();
  if (info.bindings.size() != inputs.size() + outputs.size()) damaged("bindings");
  for (size_t i = 0; i < info.bindings.size(); ++i) {
    const BindingInfo& binding = info.bindings[i];
    const bool is_input = i < inputs.size();
    const octet::TensorInfo& value = is_input ? inputs[i] : outputs[i - inputs.size()];
    if (binding.is_input != is_input || binding.onnx != value.name) damaged(binding.name);
    if (!fits(binding.dims, value.type.shape)) damaged("the sizes of " + binding.name);
    for (const ProfileInfo& profile : info.profiles) check(profile, binding);
  }
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

}  // namespace

std::string to_bytes(const PlanInfo& info) {
  json bindings = json::array(), profiles = json::array();
  for (const BindingInfo& binding : info.bindings) bindings.push_back(to_json(binding));
  for (const ProfileInfo& profile : info.profiles)
    profiles.push_back({{"shapes", profile.shapes}, {"values", profile.values}});
  json plugins = json::array();
  std::string states;
  for (const PluginRecord& plugin : info.plugins) {
    plugins.push_back(to_json(plugin));
    states += plugin.state;
  }
  const json all = {{"name", info.name},
                    {"implicit", info.implicit_batch},
                    {"max_batch", info.max_batch},
                    {"verbosity", info.verbosity},
                    {"refittable", info.refittable},
                    {"bindings", bindings},
                    {"profiles", profiles},
                    {"debug", info.debug_tensors},
                    {"tuning", info.tuning},
                    {"refit", info.refit_options},
                    {"plugins", plugins}};
  const std::string text = all.dump(-1, ' ', false, json::error_handler_t::replace);
  const uint64_t bytes = text.size();
  std::string out(kMagic, sizeof kMagic);
  out.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return out + text + states + info.refit_model;
}

namespace {

// The parts of what is attached to a plan: JSON, the states of plugins, the model of a refit.
struct Attached {
  json text;
  std::string_view rest;
};

// Nothing where no facade wrote it.
std::optional<Attached> parts_of(std::span<const std::byte> raw) {
  const std::string_view bytes(reinterpret_cast<const char*>(raw.data()), raw.size());
  constexpr size_t kHead = sizeof kMagic + sizeof(uint64_t);
  if (bytes.size() < kHead || bytes.substr(0, sizeof kMagic) != std::string_view(kMagic, 8))
    return std::nullopt;
  uint64_t length = 0;
  std::memcpy(&length, bytes.data() + sizeof kMagic, sizeof length);
  if (length > bytes.size() - kHead) damaged("its length");
  return Attached{json::parse(bytes.substr(kHead, length)), bytes.substr(kHead + length)};
}

// Takes the states off the rest.
std::vector<PluginRecord> take_plugins(Attached& attached) {
  std::vector<PluginRecord> plugins;
  if (!attached.text.contains("plugins")) return plugins;
  for (const json& value : attached.text.at("plugins")) {
    plugins.push_back(plugin_from(value));
    const size_t bytes = state_bytes(value);
    if (bytes > attached.rest.size()) damaged("the state of a plugin");
    plugins.back().state = attached.rest.substr(0, bytes);
    attached.rest.remove_prefix(bytes);
    if (plugins.back().key != key_of(plugins.back())) damaged("the key of a plugin");
  }
  return plugins;
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

}  // namespace

PlanInfo plan_info(const octet::Engine& engine) {
  return reading([&] {
    std::optional<Attached> attached = parts_of(octet::attachment(engine));
    PlanInfo info;
    if (!attached) {
      for (const auto& input : engine.inputs()) info.bindings.push_back(own_binding(input, true));
      for (const auto& output : engine.outputs())
        info.bindings.push_back(own_binding(output, false));
      check_types(info, engine);
      return info;
    }
    info = from_json(attached->text);
    info.plugins = take_plugins(*attached);
    info.refit_model = attached->rest;
    check(info, engine);
    check_types(info, engine);
    return info;
  });
}

std::vector<PluginRecord> attached_plugins(std::span<const std::byte> attached) {
  return reading([&] {
    std::optional<Attached> parts = parts_of(attached);
    return parts ? take_plugins(*parts) : std::vector<PluginRecord>();
  });
}

octet::Engine load_plan(std::span<const std::byte> plan) {
  for (const PluginRecord& plugin : attached_plugins(octet::attachment(plan)))
    declare_operator(plugin.signature);
  return octet::Engine::load(plan);
}

}  // namespace octet_trt
