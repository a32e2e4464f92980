// SPDX-License-Identifier: Apache-2.0
// Types of the graph's inputs: the model's, completed by the shapes that the user gave.
#pragma once

#include <map>
#include <string>

#include "onnx/import.h"
#include "onnx/onnx.pb.h"

namespace octet {

class InputTypes {
 public:
  InputTypes(const std::map<std::string, Shape>& given, ImportInfo& info)
      : given_(given), info_(info) {}

  // Throws for inputs that are no tensors, have no type or an impossible shape, or contradict the given shape.
  TensorType type_of(const octet_onnx::ValueInfoProto& proto);

 private:
  Shape declared_shape(const std::string& name, const octet_onnx::TypeProto::Tensor& type,
                       const Shape* given);
  void bind_dim_name(const std::string& name, const std::string& input, int axis, s64 size);
  // Negative, one for each name and for each dimension without one (passes/infer_types.h).
  s64 size_number(const std::string& name);

  const std::map<std::string, Shape>& given_;
  ImportInfo& info_;
  std::map<std::string, std::pair<s64, std::string>>
      bound_;                           // dimension name -> size and the input that set it
  std::map<std::string, s64> numbers_;  // of dynamic dimensions that have a name
  s64 numbered_ = 0;
};

}  // namespace octet
