// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace octet_ort {
namespace {

using Values = std::vector<const OrtValueInfo*>;
using Count = OrtStatus* (*)(const OrtNode*, size_t*);
using Get = OrtStatus* (*)(const OrtNode*, const OrtValueInfo**, size_t);

Values values_of(const Host& host, const OrtNode* node, Count count_of, Get get) {
  size_t count = 0;
  host.check(count_of(node, &count));
  Values values(count, nullptr);
  if (count > 0) host.check(get(node, values.data(), count));
  return values;
}

std::string name_of(const Host& host, const OrtValueInfo* value) {
  const char* name = nullptr;
  if (value == nullptr) return {};
  host.check(host.GetValueInfoName(value, &name));
  return name;
}

// Values by name; a value that is a constant or an output of the graph is noted as such.
void note_values(const Host& host, const Values& values, Graph& graph) {
  for (const OrtValueInfo* value : values) {
    const std::string name = name_of(host, value);
    if (name.empty() || !graph.values.emplace(name, value).second) continue;
    bool is = false;
    host.check(host.ValueInfo_IsConstantInitializer(value, &is));
    if (is) graph.constants.insert(name);
    host.check(host.ValueInfo_IsOptionalGraphInput(value, &is));
    if (is) {
      graph.constants.insert(name);
      graph.replaceable.insert(name);
    }
    host.check(host.ValueInfo_IsGraphOutput(value, &is));
    if (is) graph.outputs.insert(name);
  }
}

std::vector<std::string> names(const Host& host, const Values& values) {
  std::vector<std::string> result;
  for (const OrtValueInfo* value : values) result.push_back(name_of(host, value));
  return result;
}

const char* text_of(const Host& host, OrtStatus* (*get)(const OrtNode*, const char**),
                    const OrtNode* node) {
  const char* text = nullptr;
  host.check(get(node, &text));
  return text == nullptr ? "" : text;
}

GraphNode read_node(const Host& host, const OrtNode* node, size_t place, Graph& graph) {
  GraphNode result;
  result.node = node;
  result.op = text_of(host, host.Node_GetOperatorType, node);
  result.domain = text_of(host, host.Node_GetDomain, node);
  if (result.domain == "ai.onnx") result.domain.clear();
  result.name = text_of(host, host.Node_GetName, node);
  const Values inputs = values_of(host, node, host.Node_GetNumInputs, host.Node_GetInputs);
  const Values outputs = values_of(host, node, host.Node_GetNumOutputs, host.Node_GetOutputs);
  const Values captured =
      values_of(host, node, host.Node_GetNumImplicitInputs, host.Node_GetImplicitInputs);
  note_values(host, inputs, graph);
  note_values(host, captured, graph);
  note_values(host, outputs, graph);
  result.inputs = names(host, inputs);
  result.outputs = names(host, outputs);
  for (const std::string& name : result.inputs) graph.readers[name].push_back(place);
  for (const std::string& name : names(host, captured)) graph.readers[name].push_back(place);
  size_t bodies = 0;
  host.check(host.Node_GetNumSubgraphs(node, &bodies));
  result.has_bodies = bodies > 0;
  return result;
}

void read_nodes(const Host& host, Graph& graph) {
  size_t count = 0;
  host.check(host.Graph_GetNumNodes(graph.handle, &count));
  std::vector<const OrtNode*> nodes(count);
  if (count > 0) host.check(host.Graph_GetNodes(graph.handle, nodes.data(), count));
  std::set<std::string> taken;
  for (size_t i = 0; i < count; ++i) {
    GraphNode node = read_node(host, nodes[i], i, graph);
    std::string name = node.name.empty() ? node.op + "_" + std::to_string(i) : node.name;
    while (!taken.insert(name).second) name += "_" + std::to_string(i);
    node.name = name;
    graph.nodes.push_back(std::move(node));
  }
}

void read_opsets(const Host& host, Graph& graph) {
  size_t count = 0;
  host.check(host.Graph_GetNumOperatorSets(graph.handle, &count));
  std::vector<const char*> domains(count);
  std::vector<int64_t> versions(count);
  if (count > 0) {
    host.check(host.Graph_GetOperatorSets(graph.handle, domains.data(), versions.data(), count));
  }
  for (size_t i = 0; i < count; ++i) graph.opsets.emplace_back(domains[i], versions[i]);
}

bool read_elsewhere(const Graph& graph, const std::set<size_t>& inside, const std::string& name) {
  if (graph.outputs.contains(name)) return true;
  const auto readers = graph.readers.find(name);
  return readers != graph.readers.end() &&
         std::any_of(readers->second.begin(), readers->second.end(),
                     [&](size_t reader) { return !inside.contains(reader); });
}

const OrtOpAttr* find_attribute(const Host& host, const OrtNode* node, const std::string& wanted,
                                int kind) {
  for (const OrtOpAttr* attribute : attributes_of(host, node)) {
    const char* name = nullptr;
    int its_kind = 0;
    host.check(host.OpAttr_GetName(attribute, &name));
    host.check(host.OpAttr_GetType(attribute, &its_kind));
    if (name == wanted && its_kind == kind) return attribute;
  }
  return nullptr;
}

}  // namespace

Graph read_graph(const Host& host, const OrtGraph* handle) {
  Graph graph;
  graph.handle = handle;
  const OrtNode* parent = nullptr;
  host.check(host.Graph_GetParentNode(handle, &parent));
  graph.nested = parent != nullptr;
  const char* path = nullptr;
  host.check(host.Graph_GetModelPath(handle, &path));
  if (path != nullptr) graph.path = path;
  host.check(host.Graph_GetOnnxIRVersion(handle, &graph.ir_version));
  read_opsets(host, graph);
  read_nodes(host, graph);
  return graph;
}

Part part_of(const Graph& graph, std::vector<size_t> nodes) {
  Part part;
  const std::set<size_t> inside(nodes.begin(), nodes.end());
  std::set<std::string> made;
  std::set<std::string> seen;
  for (const size_t i : nodes) {
    const GraphNode& node = graph.nodes[i];
    for (const std::string& name : node.inputs) {
      if (name.empty() || made.contains(name) || !seen.insert(name).second) continue;
      (graph.constants.contains(name) ? part.constants : part.inputs).push_back(name);
    }
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      made.insert(name);
      if (read_elsewhere(graph, inside, name)) part.outputs.push_back(name);
      part.key += name + '\n';
    }
  }
  part.nodes = std::move(nodes);
  return part;
}

const octet::Dtype* dtype_of(int element_type) {
  using octet::Dtype;
  static const std::map<int, Dtype> types = {
      {1, Dtype::f32},  {2, Dtype::u8},   {3, Dtype::s8},      {4, Dtype::u16},  {5, Dtype::s16},
      {6, Dtype::s32},  {7, Dtype::s64},  {9, Dtype::boolean}, {10, Dtype::f16}, {11, Dtype::f64},
      {12, Dtype::u32}, {13, Dtype::u64}, {16, Dtype::bf16}};
  const auto found = types.find(element_type);
  return found == types.end() ? nullptr : &found->second;
}

ValueType type_of(const Host& host, const OrtValueInfo* value) {
  ValueType type;
  const OrtTypeInfo* info = nullptr;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  host.check(host.GetValueInfoTypeInfo(value, &info));
  if (info == nullptr) return type;
  host.check(host.CastTypeInfoToTensorInfo(info, &tensor));
  if (tensor == nullptr) return type;
  host.check(host.GetTensorElementType(tensor, &type.element_type));
  type.has_shape = host.TensorTypeAndShape_HasShape(tensor);
  size_t rank = 0;
  host.check(host.GetDimensionsCount(tensor, &rank));
  if (!type.has_shape || rank == 0) return type;
  type.dims.resize(rank);
  host.check(host.GetDimensions(tensor, type.dims.data(), rank));
  std::vector<const char*> dim_names(rank);
  host.check(host.GetSymbolicDimensions(tensor, dim_names.data(), rank));
  for (const char* name : dim_names) type.dim_names.emplace_back(name == nullptr ? "" : name);
  return type;
}

std::vector<const OrtOpAttr*> attributes_of(const Host& host, const OrtNode* node) {
  size_t count = 0;
  host.check(host.Node_GetNumAttributes(node, &count));
  std::vector<const OrtOpAttr*> attributes(count);
  if (count > 0) host.check(host.Node_GetAttributes(node, attributes.data(), count));
  return attributes;
}

size_t fingerprint(std::string_view bytes) { return std::hash<std::string_view>()(bytes); }

size_t fingerprint(const Host& host, const OrtValue* value) {
  size_t bytes = 0;
  const void* data = nullptr;
  host.check(host.GetTensorSizeInBytes(value, &bytes));
  host.check(host.GetTensorData(value, &data));
  return fingerprint({static_cast<const char*>(data), bytes});
}

size_t fingerprint_of_constant(const Host& host, const Graph& graph, const std::string& name) {
  const OrtValue* value = nullptr;
  host.check(host.ValueInfo_GetInitializerValue(graph.values.at(name), &value));
  if (value == nullptr) {
    throw octet::Error(octet::Error::Code::unsupported,
                       "initializer '" + name + "', which is an input as well, has no value");
  }
  return fingerprint(host, value);
}

std::vector<std::string> names_of(const Host& host, const OrtNode* node, bool outputs) {
  return names(host, outputs ? values_of(host, node, host.Node_GetNumOutputs, host.Node_GetOutputs)
                             : values_of(host, node, host.Node_GetNumInputs, host.Node_GetInputs));
}

std::string attribute_bytes(const Host& host, const OrtOpAttr* attribute, int kind) {
  size_t bytes = 0;
  char none = 0;
  // Too little room is how the size is asked for.
  if (OrtStatus* status = host.ReadOpAttr(attribute, kind, &none, 0, &bytes)) {
    host.ReleaseStatus(status);
  }
  std::string text(bytes, '\0');
  if (bytes > 0) host.check(host.ReadOpAttr(attribute, kind, text.data(), bytes, &bytes));
  return text;
}

std::string text_attribute(const Host& host, const OrtNode* node, const std::string& name) {
  const OrtOpAttr* attribute = find_attribute(host, node, name, kAttrString);
  return attribute == nullptr ? "" : attribute_bytes(host, attribute, kAttrString);
}

int64_t integer_attribute(const Host& host, const OrtNode* node, const std::string& name,
                          int64_t otherwise) {
  const OrtOpAttr* attribute = find_attribute(host, node, name, kAttrInt);
  size_t bytes = 0;
  if (attribute == nullptr) return otherwise;
  host.check(host.ReadOpAttr(attribute, kAttrInt, &otherwise, sizeof otherwise, &bytes));
  return otherwise;
}

}  // namespace octet_ort
