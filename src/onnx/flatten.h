// SPDX-License-Identifier: Apache-2.0
// The main graph's nodes with model-local functions expanded, each with the opsets that it was written for; the same for
// the bodies of control flow.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "onnx/onnx.pb.h"

namespace octet {

// Domain -> version; the domain "ai.onnx" is stored as "".
using Opsets = std::map<std::string, s64, std::less<>>;

struct FlatBody;

struct FlatNode {
  octet_onnx::NodeProto* proto = nullptr;
  const Opsets* opsets = nullptr;
  std::string
      name;  // the ONNX name, or "Conv_12" when it has none; prefixed by the calling node inside a function
  std::vector<FlatBody> bodies;
};

// A graph that is an attribute of a node.
struct FlatBody {
  std::string attribute;
  octet_onnx::GraphProto* proto = nullptr;
  std::vector<FlatNode> nodes;
};

// Owns the nodes that expansion makes; the model's own nodes stay in the model.
struct FlatGraph {
  std::vector<FlatNode> nodes;
  std::deque<octet_onnx::NodeProto> expanded;
  std::deque<Opsets> opsets;  // [0]: the model's
};

// Calls `visit` for every body, also for those in bodies.
template <class Visit>
void for_each_body(const std::vector<FlatNode>& nodes, const Visit& visit) {
  for (const FlatNode& node : nodes) {
    for (const FlatBody& body : node.bodies) {
      visit(body);
      for_each_body(body.nodes, visit);
    }
  }
}

std::string canonical_domain(const std::string& domain);
Opsets read_opsets(
    const google::protobuf::RepeatedPtrField<octet_onnx::OperatorSetIdProto>& imports);

// Throws for recursive functions, for ones that expand too deep or to too many nodes, and for graphs nested too deep.
FlatGraph flatten(octet_onnx::ModelProto& model);

}  // namespace octet
