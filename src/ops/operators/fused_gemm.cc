// SPDX-License-Identifier: Apache-2.0
// com.microsoft FusedGemm: activation(Gemm).
#include <string>

#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  const std::string activation = attrs.s("activation", "");
  std::vector<f32> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (attrs.has(name)) parameters.push_back(attrs.f(name, 0.0f));
    attrs.erase(name);
  }
  attrs.erase("activation");
  emit_activation(parser, activation, parameters);
  parser.become("Gemm");
}

}  // namespace

extern constinit const OpDef kFusedGemm = contrib_operator("FusedGemm", {2, 3}, parse);
}  // namespace octet
