// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "inspect/json.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

Json tensors_json(const std::vector<TensorInfo>& tensors, const ModelCheck& check) {
  Json list = Json::array();
  for (const TensorInfo& tensor : tensors) {
    Json entry = {{"name", tensor.name}, {"type", to_string(tensor.type)}};
    const auto names = check.dim_names.find(tensor.name);
    if (names != check.dim_names.end()) entry["dims"] = names->second;
    list.push_back(std::move(entry));
  }
  return list;
}

Json operators_json(const ModelCheck& check) {
  Json list = Json::array();
  for (const auto& op : check.operators) {
    Json entry = {{"name", op.name},
                  {"domain", op.domain},
                  {"opset", op.opset},
                  {"count", op.count},
                  {"supported", op.supported}};
    if (!op.supported) entry["nodes"] = op.nodes;
    list.push_back(std::move(entry));
  }
  return list;
}

Json opsets_json(const ModelCheck& check) {
  Json opsets = Json::object();
  for (const auto& [domain, version] : check.opsets)
    opsets[domain.empty() ? "ai.onnx" : domain] = version;
  return opsets;
}

// Of an Inspection or an EngineMemory.
template <class T>
Json memory_json(const std::optional<T>& of) {
  if (!of) return nullptr;
  return {{"weight_bytes", of->weight_bytes}, {"arena_bytes", of->arena_bytes}};
}

Json problems_json(const ModelCheck& check) {
  Json list = Json::array();
  for (const auto& problem : check.problems)
    list.push_back({{"message", problem.message}, {"context", problem.context}});
  return list;
}

Json layers_json(const Inspection& inspection) {
  Json list = Json::array();
  for (const LayerInfo& layer : inspection.layers) {
    list.push_back({{"name", layer.name},
                    {"op", layer.op},
                    {"precision", to_string(layer.precision)},
                    {"reason_code", to_string(layer.reason_code)},
                    {"reason", layer.reason},
                    {"nodes", layer.nodes},
                    {"macs", layer.macs}});
  }
  return list;
}

Json notes_json(const std::vector<QdqNote>& notes) {
  Json list = Json::array();
  for (const QdqNote& note : notes) {
    list.push_back({{"rule", note.rule},
                    {"runtime", note.runtime},
                    {"blocks", note.blocks},
                    {"text", note.text}});
  }
  return list;
}

Json qdq_json(const QdqLint& lint) {
  Json pairs = Json::array();
  for (const QdqPair& pair : lint.pairs) {
    pairs.push_back({{"role", to_string(pair.role)},
                     {"quantize", pair.quantize},
                     {"dequantize", pair.dequantize},
                     {"tensor", pair.tensor},
                     {"int8", pair.int8},
                     {"fate", pair.fate},
                     {"notes", notes_json(pair.notes)}});
  }
  Json blocking = Json::object();
  for (const char* runtime : {"octet", "tensorrt", "onnxruntime"})
    blocking[runtime] = count_blocking(lint, runtime);
  return {{"pairs", std::move(pairs)}, {"notes", notes_json(lint.notes)}, {"blocking", blocking}};
}

}  // namespace

std::string to_json(const ModelCheck& check) {
  Json shapes = Json::array();
  for (const Shape& shape : check.planned_shapes) shapes.push_back(to_string(shape));
  Json object = {{"builds", check.builds()},
                 {"problems", problems_json(check)},
                 {"warnings", check.warnings},
                 {"producer", check.producer},
                 {"ir_version", check.ir_version},
                 {"opsets", opsets_json(check)},
                 {"functions", check.functions},
                 {"carries_qdq", check.carries_qdq},
                 {"qdq", check.qdq ? qdq_json(*check.qdq) : Json(nullptr)},
                 {"inputs", tensors_json(check.inputs, check)},
                 {"outputs", tensors_json(check.outputs, check)},
                 {"operators", operators_json(check)},
                 {"parameters", check.parameters},
                 {"parameter_bytes", check.parameter_bytes},
                 {"planned_shapes", std::move(shapes)},
                 {"memory", {{"f32", memory_json(check.f32)}, {"int8", memory_json(check.int8)}}}};
  object["coverage"] = check.int8 ? json_of(check.int8->coverage) : Json(nullptr);
  object["constraints"] = check.int8 ? constraints_json(*check.int8) : Json(nullptr);
  object["nodes"] = check.int8 ? json_of(check.int8->nodes) : Json::array();
  object["layers"] = check.int8 ? layers_json(*check.int8) : Json::array();
  return json_text(object);
}

std::string to_json(std::span<const OpSupport> table) {
  Json list = Json::array();
  for (const OpSupport& op : table) {
    list.push_back({{"name", op.name},
                    {"domain", op.domain},
                    {"import", op.import_form},
                    {"f32_kernel", op.f32_kernel},
                    {"int8", op.int8}});
  }
  return json_text(list);
}

}  // namespace octet
