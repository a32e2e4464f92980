// SPDX-License-Identifier: Apache-2.0
// Between a client's memory and the tensors of a run: where the client asked for codes or for channels in blocks, elements are converted
// and moved; elsewhere its memory is used as it stands.
#pragma once

#include <cstdint>

#include "octet/tensor.h"
#include "tensorrt/engine/plan_info.h"

namespace octet_trt {

bool is_direct(const BindingInfo& binding);
// Bytes that a client's memory has for a tensor of this shape.
int64_t client_bytes(const BindingInfo& binding, const octet::Shape& shape);
octet::Tensor read_client(const BindingInfo& binding, const octet::TensorType& type,
                          const void* memory);
void write_client(const BindingInfo& binding, const octet::Tensor& tensor, void* memory);

}  // namespace octet_trt
