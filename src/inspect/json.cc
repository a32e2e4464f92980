// SPDX-License-Identifier: Apache-2.0
#include "inspect/json.h"

#include <cmath>

#include "octet/error_stats.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

// One number, or one for each channel.
void add_codes(const CodeScale& codes, Json& tensor) {
  if (codes.scales.empty()) return;
  tensor["scale"] = codes.scales.size() == 1 ? Json(codes.scales[0]) : Json(codes.scales);
  tensor["zero_point"] = codes.zero_point;
}

Json tensors_json(const std::vector<std::string>& names, const std::vector<TensorType>& types,
                  const std::vector<CodeScale>& codes) {
  Json list = Json::array();
  for (size_t i = 0; i < names.size(); ++i) {
    list.push_back({{"name", names[i]}, {"type", i < types.size() ? to_string(types[i]) : ""}});
    if (i < codes.size()) add_codes(codes[i], list.back());
  }
  return list;
}

Json constants_json(const std::vector<ConstantInfo>& constants) {
  Json list = Json::array();
  for (const ConstantInfo& constant : constants) {
    list.push_back({{"name", constant.name}, {"type", to_string(constant.type)}});
    add_codes(constant.codes, list.back());
  }
  return list;
}

Json sqnr_json(double sqnr_db) {
  if (std::isfinite(sqnr_db)) return sqnr_db;
  return sqnr_db > 0 ? Json(nullptr) : Json(kWorstSqnrDb);
}

}  // namespace

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Coverage& coverage) {
  return {{"layers", coverage.layer_share()},    {"macs", coverage.mac_share()},
          {"int8_layers", coverage.int8_layers}, {"total_layers", coverage.layers},
          {"int8_macs", coverage.int8_macs},     {"total_macs", coverage.macs},
          {"bytes", coverage.byte_share()},      {"int8_bytes", coverage.int8_bytes},
          {"total_bytes", coverage.bytes},       {"time", coverage.time_share()}};
}

Json json_of(std::span<const NodePrecision> nodes) {
  Json list = Json::array();
  const auto type = [](Precision precision) {
    return precision == Precision::none ? Json(nullptr) : Json(to_string(precision));
  };
  for (const NodePrecision& node : nodes) {
    list.push_back({{"name", node.node},
                    {"layer", node.layer},
                    {"requested", type(node.requested)},
                    {"resolved", type(node.resolved)},
                    {"requested_output", type(node.requested_output)},
                    {"resolved_output", type(node.resolved_output)},
                    {"violated", node.violated()},
                    {"reason_code", to_string(node.reason_code)},
                    {"reason", node.reason}});
  }
  return list;
}

Json constraints_json(const Inspection& inspection) {
  Json types = Json::array(), results = Json::array();
  for (const PrecisionConstraint& constraint : inspection.constraints)
    (constraint.output ? results : types).push_back(to_string(constraint));
  return {{"mode", to_string(inspection.constraint_mode)},
          {"types", std::move(types)},
          {"output_types", std::move(results)}};
}

std::string to_json(const Coverage& coverage) { return json_text(json_of(coverage)); }

std::string to_json(const Inspection& inspection) {
  Json layers = Json::array();
  for (const LayerInfo& layer : inspection.layers) {
    layers.push_back(
        {{"name", layer.name},
         {"op", layer.op},
         {"precision", to_string(layer.precision)},
         {"kernel", layer.kernel},
         {"device", layer.device},
         {"crossing_bytes", layer.crossing_bytes},
         {"reason_code", to_string(layer.reason_code)},
         {"reason", layer.reason},
         {"remedy", remedy_of(layer.reason_code)},
         {"time_us", layer.us > 0 ? Json(layer.us) : Json(nullptr)},
         {"time_share", layer.us > 0 ? Json(layer.us / inspection.coverage.us) : Json(nullptr)},
         {"kernel_reason", layer.kernel_reason},
         {"choice", to_string(layer.choice)},
         {"signature", layer.signature},
         {"rejected_kernels", layer.rejected},
         {"nodes", layer.nodes},
         {"inputs", tensors_json(layer.inputs, layer.input_types, layer.input_codes)},
         {"outputs", tensors_json(layer.outputs, layer.output_types, layer.output_codes)},
         {"constants", constants_json(layer.constants)},
         {"macs", layer.macs}});
  }
  return json_text({{"layers", std::move(layers)},
                    {"coverage", json_of(inspection.coverage)},
                    {"constraints", constraints_json(inspection)},
                    {"nodes", json_of(inspection.nodes)},
                    {"isa", inspection.isa},
                    {"weight_bytes", inspection.weight_bytes},
                    {"arena_bytes", inspection.arena_bytes}});
}

std::string to_json(std::span<const ValueError> errors) {
  Json list = Json::array();
  for (const ValueError& error : errors) {
    const bool exact = std::isinf(error.sqnr_db) && error.sqnr_db > 0;
    list.push_back({{"value", error.value},
                    {"layer", error.layer},
                    {"precision", to_string(error.precision)},
                    {"sqnr_db", sqnr_json(error.sqnr_db)},
                    {"exact", exact},
                    {"max_abs", error.max_abs},
                    {"cosine", error.cosine},
                    {"elements", error.elements},
                    {"beyond", error.beyond}});
  }
  return json_text(list);
}

std::string_view code_name(Error::Code code) {
  switch (code) {
    case Error::Code::invalid_model:
      return "invalid_model";
    case Error::Code::unsupported:
      return "unsupported";
    case Error::Code::invalid_argument:
      return "invalid_argument";
    case Error::Code::out_of_memory:
      return "out_of_memory";
    case Error::Code::io:
      return "io";
    case Error::Code::cancelled:
      return "cancelled";
    case Error::Code::internal:
      break;
  }
  return "internal";
}

}  // namespace octet
