// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/json.h"

#include <nlohmann/json.hpp>

#include "octet/error.h"
#include "tensorrt/shared/block_format.h"

namespace octet_trt {
namespace {

using nlohmann::json;

constexpr size_t kMostPorts = 128;
constexpr size_t kMostListed = 4096;

[[noreturn]] void damaged_plugin(const std::string& why) {
  throw octet::Error(octet::Error::Code::invalid_model,
                     "what the plan says of its plugins is damaged: " + why);
}

DataType type_from(const std::string& name) {
  for (int32_t i = 0; i < EnumMax<DataType>(); ++i)
    if (name == name_of(static_cast<DataType>(i))) return static_cast<DataType>(i);
  damaged_plugin("type '" + name + "'");
}

TensorFormat format_from(const std::string& name) {
  for (const FormatInfo& info : known_formats())
    if (name == info.name) return info.format;
  damaged_plugin("format '" + name + "'");
}

json to_json(const PluginCombo& combo) {
  json list = json::array();
  for (const TypedFormat& port : combo) {
    list.push_back(name_of(port.type));
    list.push_back(format_info(port.format)->name);
  }
  return list;
}

PluginCombo combo_from(const json& list, size_t ports) {
  if (list.size() != 2 * ports) damaged_plugin("formats of " + std::to_string(list.size() / 2));
  PluginCombo combo;
  for (size_t i = 0; i < ports; ++i)
    combo.push_back({type_from(list.at(2 * i)), format_from(list.at(2 * i + 1))});
  return combo;
}

}  // namespace

json to_json(const PluginRecord& record) {
  json combos = json::array();
  for (const PluginCombo& combo : record.signature.combos) combos.push_back(to_json(combo));
  return {{"key", record.key},
          {"type", record.name.type},
          {"version", record.name.version},
          {"namespace", record.name.space},
          {"layer", record.layer},
          {"implicit", record.implicit},
          {"ranks", record.signature.ranks},
          {"inputs", record.signature.inputs},
          {"shapes", record.signature.shapes},
          {"formats", combos},
          {"sized", record.signature.sized},
          {"state_bytes", record.state.size()}};
}

PluginRecord plugin_from(const json& value) {
  PluginRecord record;
  record.key = value.at("key");
  record.name = {value.at("type"), value.at("version"), value.at("namespace")};
  record.layer = value.at("layer");
  record.implicit = value.at("implicit");
  PluginSignature& signature = record.signature;
  signature.type = record.name.type;
  signature.ranks = value.at("ranks").get<std::vector<int32_t>>();
  signature.inputs = value.at("inputs");
  const size_t ports = signature.ranks.size();
  const bool fits =
      ports <= kMostPorts && signature.inputs > 0 && static_cast<size_t>(signature.inputs) < ports;
  if (!fits) damaged_plugin("inputs and outputs of layer '" + record.layer + "'");
  signature.shapes = value.value("shapes", 0);
  if (signature.shapes < 0 || static_cast<size_t>(signature.shapes) > kMostPorts)
    damaged_plugin("shape inputs of layer '" + record.layer + "'");
  for (const int32_t rank : signature.ranks)
    if (rank < 0 || rank > Dims::MAX_DIMS || (record.implicit && rank == 0))
      damaged_plugin("rank " + std::to_string(rank));
  signature.sized = value.value("sized", std::vector<int32_t>());
  for (const int32_t output : signature.sized)
    if (output < 0 || output >= static_cast<int32_t>(ports) - signature.inputs)
      damaged_plugin("output " + std::to_string(output));
  const json& formats = value.at("formats");
  if (formats.empty() || formats.size() > kMostListed) damaged_plugin("combinations of formats");
  for (const json& combo : formats) signature.combos.push_back(combo_from(combo, ports));
  return record;
}

size_t state_bytes(const json& value) { return value.at("state_bytes").get<size_t>(); }

}  // namespace octet_trt
