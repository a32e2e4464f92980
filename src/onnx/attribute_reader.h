// SPDX-License-Identifier: Apache-2.0
// AttributeProto -> Attrs, with the declared kind checked against what is stored.
#pragma once

#include "graph/attrs.h"
#include "onnx/onnx.pb.h"
#include "onnx/tensor_reader.h"

namespace octet {

// AttributeProto.AttributeType.
enum class AttrKind : s32 {
  undefined,
  f,
  i,
  s,
  t,
  g,
  floats,
  ints,
  strings,
  tensors,
  graphs,
  sparse_tensor,
  sparse_tensors,
  tp,
  type_protos
};

// The one kind that is stored; throws when the declared type is another one or several are stored.
AttrKind attribute_kind(const octet_onnx::AttributeProto& proto);

// All attributes of a node.
Attrs read_attributes(octet_onnx::NodeProto& node, TensorReader& tensors);

// What a Constant node with this one attribute holds.
Tensor constant_tensor(const Attrs& attrs);

}  // namespace octet
