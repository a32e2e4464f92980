// SPDX-License-Identifier: Apache-2.0
#include "model_text.h"

#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "integrations/wire/wire.h"
#include "octet/error.h"

namespace octet_ort {

using octet_wire::WireReader;
using octet_wire::WireWriter;
namespace {

using octet::Error;

constexpr size_t kMostBytes =
    (size_t{1} << 31) - (size_t{1} << 20);  // of protobuf, less what is around weights

// A constant as a TensorProto of raw bytes. The host's tensors are laid out as these are, in half bytes too.
std::string tensor_proto(const Host& host, const std::string& name, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  host.check(host.GetTensorTypeAndShape(value, &info));
  int element_type = 0;
  size_t rank = 0;
  size_t bytes = 0;
  const void* data = nullptr;
  host.check(host.GetTensorElementType(info, &element_type));
  host.check(host.GetDimensionsCount(info, &rank));
  std::vector<int64_t> dims(rank);
  if (rank > 0) host.check(host.GetDimensions(info, dims.data(), rank));
  host.ReleaseTensorTypeAndShapeInfo(info);
  if (element_type == 8) {  // of texts, whose bytes lie elsewhere
    throw Error(Error::Code::unsupported, "constant '" + name + "' is of strings");
  }
  host.check(host.GetTensorSizeInBytes(value, &bytes));
  host.check(host.GetTensorData(value, &data));
  WireWriter out;
  for (const int64_t dim : dims) out.integer(1, dim);
  out.integer(2, element_type);
  if (!name.empty()) out.bytes(8, name);
  out.bytes(9, {static_cast<const char*>(data), bytes});
  return out.take();
}

template <class T>
std::vector<T> numbers(const std::string& bytes) {
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

void write_strings(const std::string& bytes, WireWriter& out) {
  for (size_t at = 0; at < bytes.size();) {
    const std::string text = bytes.c_str() + at;
    out.bytes(9, text);
    at += text.size() + 1;
  }
}

void write_tensor(const Host& host, const OrtOpAttr* attribute, WireWriter& out) {
  OrtValue* value = nullptr;
  host.check(host.OpAttr_GetTensorAttributeAsOrtValue(attribute, &value));
  if (value == nullptr) throw Error(Error::Code::unsupported, "a tensor of no elements");
  try {
    out.bytes(5, tensor_proto(host, "", value));
  } catch (...) {
    host.ReleaseValue(value);
    throw;
  }
  host.ReleaseValue(value);
}

// AttributeProto.AttributeType, which is not numbered as the host's kinds are; 0: the host does not show the attribute.
int onnx_kind(int kind) {
  switch (kind) {
    case kAttrFloat:
      return 1;
    case kAttrInt:
      return 2;
    case kAttrString:
      return 3;
    case kAttrTensor:
      return 4;
    case kAttrFloats:
      return 6;
    case kAttrInts:
      return 7;
    case kAttrStrings:
      return 8;
    default:
      return 0;
  }
}

void write_value(const Host& host, const OrtOpAttr* attribute, int kind, WireWriter& out) {
  if (kind == kAttrTensor) return write_tensor(host, attribute, out);
  size_t size = 0;
  if (kind == kAttrInt) {
    int64_t value = 0;
    host.check(host.ReadOpAttr(attribute, kind, &value, sizeof value, &size));
    return out.integer(3, value);
  }
  if (kind == kAttrFloat) {
    float value = 0;
    host.check(host.ReadOpAttr(attribute, kind, &value, sizeof value, &size));
    return out.real(2, value);
  }
  const std::string bytes = attribute_bytes(host, attribute, kind);
  if (kind == kAttrString) return out.bytes(4, bytes);
  if (kind == kAttrStrings) return write_strings(bytes, out);
  if (kind == kAttrFloats) {
    for (const float value : numbers<float>(bytes)) out.real(7, value);
    return;
  }
  for (const int64_t value : numbers<int64_t>(bytes)) out.integer(8, value);
}

std::string attribute_proto(const Host& host, const OrtOpAttr* attribute) {
  const char* name = nullptr;
  int kind = 0;
  host.check(host.OpAttr_GetName(attribute, &name));
  host.check(host.OpAttr_GetType(attribute, &kind));
  if (onnx_kind(kind) == 0) {
    throw Error(Error::Code::unsupported,
                std::string("attribute '") + name + "' is of a kind that is not shown");
  }
  WireWriter out;
  out.bytes(1, name);
  write_value(host, attribute, kind, out);
  out.integer(20, onnx_kind(kind));
  return out.take();
}

std::string node_proto(const Host& host, const GraphNode& node) {
  WireWriter out;
  for (const std::string& name : node.inputs) out.bytes(1, name);
  for (const std::string& name : node.outputs) out.bytes(2, name);
  out.bytes(3, node.name);
  out.bytes(4, node.op);
  for (const OrtOpAttr* attribute : attributes_of(host, node.node)) {
    try {
      out.bytes(5, attribute_proto(host, attribute));
    } catch (Error& error) {
      error.add_context("importing node '" + node.name + "' (" + node.op + ")");
      throw;
    }
  }
  out.bytes(7, node.domain);
  return out.take();
}

std::string shape_proto(const ValueType& type) {
  WireWriter shape;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    WireWriter dim;
    if (type.dims[i] >= 0) {
      dim.integer(1, type.dims[i]);
    } else if (!type.dim_names[i].empty()) {
      dim.bytes(2, type.dim_names[i]);
    }
    shape.bytes(1, dim.take());
  }
  return shape.take();
}

// Operators of one shape inside and out, in their first input.
bool keeps_shape(const GraphNode& node) {
  static const std::set<std::string> known = {
      "Cast",     "Clip",      "DequantizeLinear", "Elu",  "HardSigmoid", "HardSwish",
      "Identity", "LeakyRelu", "QuantizeLinear",   "Relu", "Sigmoid",     "Tanh"};
  return node.domain.empty() && known.contains(node.op);
}

// The image that this node reads as its first input, where it is a convolution that tells.
std::optional<std::vector<int64_t>> dims_read(const Host& host, const Graph& graph,
                                              const GraphNode& node) {
  const bool of_codes = node.op == "QLinearConv";
  if (!node.domain.empty() || (node.op != "Conv" && !of_codes)) return std::nullopt;
  const ValueType weights = type_of(host, graph.values.at(node.inputs[of_codes ? 3 : 1]));
  if (weights.dims.size() < 3 || weights.dims[1] < 1) return std::nullopt;
  std::vector<int64_t> dims(weights.dims.size(), -1);
  dims[1] = weights.dims[1] * integer_attribute(host, node.node, "group", 1);
  return dims;
}

// Nodes of a part whose first input this is.
std::vector<size_t> first_readers(const Graph& graph, const std::set<size_t>& inside,
                                  const std::string& name) {
  std::vector<size_t> nodes;
  const auto readers = graph.readers.find(name);
  if (readers == graph.readers.end()) return nodes;
  for (const size_t i : readers->second) {
    const GraphNode& node = graph.nodes[i];
    if (inside.contains(i) && !node.inputs.empty() && node.inputs[0] == name) nodes.push_back(i);
  }
  return nodes;
}

// What a convolution of a part says of the image that it reads, perhaps behind others: behind an operator that ONNX Runtime does not know the shape of, nobody
// else does. Nothing where none reads it. Chains may be as long as the model.
std::optional<std::vector<int64_t>> dims_by_reader(const Host& host, const Graph& graph,
                                                   const Part& part, const std::string& name) {
  const std::set<size_t> inside(part.nodes.begin(), part.nodes.end());
  std::vector<std::string> names = {name};
  std::set<std::string> seen = {name};
  for (size_t at = 0; at < names.size(); ++at) {
    for (const size_t i : first_readers(graph, inside, names[at])) {
      const GraphNode& node = graph.nodes[i];
      if (auto dims = dims_read(host, graph, node)) return dims;
      if (keeps_shape(node) && seen.insert(node.outputs[0]).second)
        names.push_back(node.outputs[0]);
    }
  }
  return std::nullopt;
}

// Of an input of a part.
ValueType type_in(const Host& host, const Graph& graph, const Part& part, const std::string& name) {
  ValueType type = type_of(host, graph.values.at(name));
  if (type.has_shape) return type;
  if (auto dims = dims_by_reader(host, graph, part, name)) {
    type.has_shape = true;
    type.dim_names.resize(dims->size());
    type.dims = std::move(*dims);
  }
  return type;
}

std::string value_proto(const std::string& name, const ValueType& type) {
  WireWriter tensor;
  tensor.integer(1, type.element_type);
  if (type.has_shape) tensor.bytes(2, shape_proto(type));
  WireWriter whole;
  whole.bytes(1, tensor.take());
  WireWriter out;
  out.bytes(1, name);
  out.bytes(2, whole.take());
  return out.take();
}

std::string graph_proto(const Host& host, const Graph& graph, const Part& part) {
  WireWriter out;
  for (const size_t i : part.engine_nodes()) out.bytes(1, node_proto(host, graph.nodes[i]));
  out.bytes(2, "part");
  for (const std::string& name : part.constants) {
    const OrtValue* value = nullptr;
    host.check(host.ValueInfo_GetInitializerValue(graph.values.at(name), &value));
    if (value == nullptr)
      throw Error(Error::Code::unsupported, "constant '" + name + "' has no value");
    out.bytes(5, tensor_proto(host, name, value));
    if (out.size() > kMostBytes) {
      throw Error(Error::Code::unsupported, "its weights are larger than one ONNX file may be");
    }
  }
  for (const std::string& name : part.inputs)
    out.bytes(11, value_proto(name, type_in(host, graph, part, name)));
  for (const std::string& name : part.outputs)
    out.bytes(12, value_proto(name, type_of(host, graph.values.at(name))));
  return out.take();
}

// What a TensorProto of a file says that can be held against the session's tensor.
struct Stored {
  std::string_view name;
  std::vector<int64_t> dims;
  std::string_view raw;
  bool elsewhere = false;  // in a file of weights, in whose place a program may have put others
};

Stored stored_tensor(std::string_view bytes) {
  Stored stored;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1 && field->type == 0) {
      stored.dims.push_back(static_cast<int64_t>(field->integer));
    }
    if (field->number == 8) stored.name = field->bytes;
    if (field->number == 9) stored.raw = field->bytes;
    if (field->number == 14) stored.elsewhere = field->integer == 1;
  }
  return stored;
}

// Of another shape it is what ONNX Runtime's rewrites made of it.
bool same(const Host& host, const OrtValueInfo* value, const Stored& stored) {
  const std::string_view raw = stored.raw;
  if (type_of(host, value).dims != stored.dims) return true;
  const OrtValue* tensor = nullptr;
  size_t bytes = 0;
  const void* data = nullptr;
  host.check(host.ValueInfo_GetInitializerValue(value, &tensor));
  if (tensor == nullptr) return true;
  host.check(host.GetTensorSizeInBytes(tensor, &bytes));
  host.check(host.GetTensorData(tensor, &data));
  return bytes == raw.size() && std::memcmp(data, raw.data(), bytes) == 0;
}

}  // namespace

std::vector<std::byte> model_of(const Host& host, const Graph& graph, const Part& part) {
  WireWriter out;
  out.integer(1, graph.ir_version);
  out.bytes(2, "ONNX Runtime session");
  out.bytes(7, graph_proto(host, graph, part));
  for (const auto& [domain, version] : graph.opsets) {
    WireWriter opset;
    opset.bytes(1, domain);
    opset.integer(2, version);
    out.bytes(8, opset.take());
  }
  const std::string text = out.take();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string different_constant(const Host& host, const Graph& graph, std::string_view file) {
  WireReader model(file);
  while (const auto field = model.next()) {
    if (field->number != 7) continue;
    WireReader inner(field->bytes);
    while (const auto part = inner.next()) {
      if (part->number != 5) continue;
      const Stored stored = stored_tensor(part->bytes);
      const auto value = graph.values.find(std::string(stored.name));
      if (stored.elsewhere) return std::string(stored.name);
      if (stored.raw.empty() || value == graph.values.end() ||
          !graph.constants.contains(value->first)) {
        continue;
      }
      if (!same(host, value->second, stored)) return value->first;
    }
  }
  return {};
}

}  // namespace octet_ort
