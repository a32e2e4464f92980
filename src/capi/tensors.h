// SPDX-License-Identifier: Apache-2.0
// Tensors of C as views, and types of C++ as C describes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capi/handles.h"
#include "octet/tensor.h"
#include "octet/tensor_view.h"

namespace octet::capi {

octet_dtype number_of(Dtype dtype);
// `of` says whose it is in an error: "input 'x'".
Dtype dtype_of(octet_dtype number, const std::string& of);

// What a tensor of an array is, for errors.
struct Place {
  const char* kind;  // "input"
  const std::vector<TensorInfo>& infos;
  uint64_t index = 0;

  std::string name() const;
};

// Sizes alone.
Shape shape_of(int32_t rank, const int64_t* dims, const Place& place);
// The caller's memory, checked against what its type and strides take.
MutableTensorView view_of(const octet_tensor& tensor, const Place& place);

// The name lives as long as `info`.
octet_tensor_info describe(const TensorInfo& info);
octet_tensor describe(const Tensor& tensor);
// Throws where the engine has no such input or output.
const TensorInfo& at(const Place& place);

// Throws unless there are as many as the engine has.
void check_count(const void* tensors, uint64_t count, const Place& place);

}  // namespace octet::capi
