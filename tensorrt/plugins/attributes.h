// SPDX-License-Identifier: Apache-2.0
// Attributes of a model's nodes, as plugins are made from them: numbers of one kind, or a text.
#pragma once

#include <string>
#include <vector>

#include "tensorrt/shared/onnx_text.h"
#include "tensorrt/shared/types.h"

namespace octet_trt {

struct NodeAttribute {
  enum class Kind { kNothing, kIntegers, kReals, kText, kOther };

  std::string name;
  std::string onnx;            // its type in the model: "FLOATS", "TENSOR of f64"
  Kind kind = Kind::kNothing;  // kNothing: neither a type nor a value is written down
  PluginFieldType own = PluginFieldType::kUNKNOWN;  // the field that it is by itself
  std::vector<int64_t> integers;
  std::vector<double> reals;  // which has every number of the narrower types
  std::string text;           // of several texts: each with a zero behind it
};

// Throws octet::Error for bytes that are no attributes.
std::vector<NodeAttribute> attributes_of(const OnnxNode& node);

// Of an attribute that is a text; `otherwise` where the node has none of that name.
std::string text_attribute(const OnnxNode& node, const std::string& name,
                           const std::string& otherwise);
// Of an attribute that is a list of integers; empty where the node has none of that name. Throws octet::Error for another one.
std::vector<int64_t> integers_attribute(const OnnxNode& node, const std::string& name);

}  // namespace octet_trt
