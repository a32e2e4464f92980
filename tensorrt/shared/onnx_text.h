// SPDX-License-Identifier: Apache-2.0
// The parts of an ONNX model that a network writes, and those that it keeps of a model that was parsed.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "octet/tensor.h"

namespace octet_trt {

// The opset that layers are written in.
inline constexpr int64_t kOpset = 17;

struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>> value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

// A node: what may change of one that was parsed, and the rest of it as it stood.
struct OnnxNode {
  std::string op;
  std::string domain;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string rest;  // fields of a NodeProto: attributes above all
};

// TensorProto.DataType. Throws octet::Error(unsupported) for a type that no network has.
int64_t onnx_type_of(octet::Dtype dtype);
std::string to_wire(const OnnxAttribute& attribute);
std::string to_wire(const OnnxNode& node);
std::string value_info(const std::string& name, const octet::TensorType& type);
std::string tensor_proto(const std::string& name, const octet::TensorType& type,
                         std::string_view raw);

// What a parsed model consists of. The names of weights are those of its initializers.
struct OnnxModel {
  std::vector<OnnxNode> nodes;
  std::vector<std::string> initializers;       // TensorProtos
  std::vector<std::string> initializer_names;  // one for each
  std::vector<std::string> sparse;             // SparseTensorProtos
  std::vector<std::string> infos;              // ValueInfoProtos of values that are neither
  std::vector<std::string> inputs;             // names, those of initializers apart
  std::vector<std::string> input_infos;        // ValueInfoProtos, one for each
  std::vector<std::string> outputs;            // names
  std::string head;                            // other fields of the ModelProto: opsets, functions
  int64_t opset = 0;                           // of the domain ai.onnx
};
// Throws octet::Error(invalid_model).
OnnxModel read_onnx(std::string_view bytes);

// A TensorProto's name, type and elements, row-major.
struct OnnxTensor {
  std::string name;
  octet::TensorType type;
  std::string raw;  // empty where the elements lie in another file
};
OnnxTensor read_tensor(std::string_view bytes);

// Throws octet::Error(io).
std::string read_file(const std::string& path);

// The names of dimensions in a ValueInfoProto; empty where there is none.
std::vector<std::string> dimension_names(std::string_view value_info);

}  // namespace octet_trt
