// SPDX-License-Identifier: Apache-2.0
// TensorProto -> Tensor, in every encoding that ONNX has, with sizes checked before anything is allocated.
#pragma once

#include <string>
#include <vector>

#include "octet/tensor.h"
#include "onnx/external_data.h"
#include "onnx/onnx.pb.h"

namespace octet {

class TensorReader {
 public:
  TensorReader(ExternalData& external, s64 max_bytes, std::vector<std::string>& warnings)
      : external_(external), max_bytes_(max_bytes), warnings_(warnings) {}

  // Frees the message's payload as it goes, so that large weights exist once.
  Tensor read(octet_onnx::TensorProto& proto);
  // The dense form.
  Tensor read_sparse(octet_onnx::SparseTensorProto& proto);

 private:
  TensorType checked_type(const octet_onnx::TensorProto& proto, Dtype dtype);
  void reserve(s64 bytes);
  void warn_not_finite(const std::string& name, const Tensor& tensor);

  ExternalData& external_;
  s64 max_bytes_;
  s64 used_ = 0;
  std::vector<std::string>& warnings_;
};

bool is_external(const octet_onnx::TensorProto& proto);
ExternalSlice external_slice(const octet_onnx::TensorProto& proto);

}  // namespace octet
