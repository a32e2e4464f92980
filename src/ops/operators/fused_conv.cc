// SPDX-License-Identifier: Apache-2.0
// com.microsoft FusedConv(x, weights, bias, z): activation(Conv + z).
#include <string>

#include "graph/op_traits.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias, kZ };

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const std::string activation = node.attrs.s("activation", "");
  const std::vector<f32> parameters = node.attrs.floats("activation_params", {});
  for (const char* name : {"activation", "activation_params"}) node.attrs.erase(name);
  if (parser.has_input(kZ)) parser.emit_after("Add", {node.input(kZ)});
  emit_activation(parser, activation, parameters);
  if (node.inputs.size() > kZ) node.inputs.resize(kZ);
  parse_as(parser, "Conv", parser.opset);
}

constexpr FloatAttribute kFloats[] = {{"activation_params", FloatDomain::number}};  // of Clip
constexpr OpTraits kTraits{.floats = kFloats};

}  // namespace

extern constinit const OpDef kFusedConv{.name = "FusedConv",
                                        .domain = "com.microsoft",
                                        .inputs = {2, 4},
                                        .parse = parse,
                                        .traits = &kTraits};
}  // namespace octet
