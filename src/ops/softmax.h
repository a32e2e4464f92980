// SPDX-License-Identifier: Apache-2.0
// What Softmax and LogSoftmax normalize over. Attribute `flatten` = 1 is the meaning before opset 13: all axes from
// `axis` on form one row.
#pragma once

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

class NodeParser;

// outer * inner rows of `count` elements, `inner` apart.
struct SoftmaxGeometry {
  s64 outer = 1;
  s64 count = 1;
  s64 inner = 1;
};

SoftmaxGeometry softmax_geometry(const Node& node, const Shape& shape);

void parse_softmax(NodeParser& parser);
void infer_softmax(Inference& inference);

}  // namespace octet
