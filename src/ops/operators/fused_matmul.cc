// SPDX-License-Identifier: Apache-2.0
// com.microsoft FusedMatMul: alpha * A' * B', where ' swaps the last two axes if transA, transB say so.
#include <string>

#include "core/check.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

bool flag(NodeParser& parser, const char* name) {
  Attrs& attrs = parser.node.attrs;
  const bool set = attrs.i(name, 0) != 0;
  attrs.erase(name);
  return set;
}

void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  for (const char* name : {"transBatchA", "transBatchB"}) {
    if (flag(parser, name)) fail(Error::Code::unsupported, "attribute '{}' is not read", name);
  }
  const f32 alpha = attrs.f("alpha", 1.0f);
  attrs.erase("alpha");
  const bool transpose_a = flag(parser, "transA"), transpose_b = flag(parser, "transB");
  if (alpha != 1.0f) parser.emit_after("Mul", {typed_scalar(parser, alpha, parser.required(0))});
  if (!transpose_a && !transpose_b) return parser.become("MatMul");
  // What an axis is counted from the end of, an Einsum knows without the rank.
  const std::string a = transpose_a ? "...ki" : "...ik", b = transpose_b ? "...jk" : "...kj";
  attrs.set("equation", a + "," + b + "->...ij");
  parser.become("Einsum");
}

}  // namespace

extern constinit const OpDef kFusedMatMul = contrib_operator("FusedMatMul", {2, 2}, parse);
}  // namespace octet
