// SPDX-License-Identifier: Apache-2.0
// com.microsoft QEmbedLayerNormalization(words, segments, codes of the tables of words, positions and segments, of gamma and beta, mask, their scales, their zero
// points): EmbedLayerNormalization of the reals that the codes stand for.
#include "ops/shared/contrib.h"
#include "ops/shared/embed_layer_norm.h"

namespace octet {
namespace {

enum : size_t { kScales = 8, kZeros = 13 };  // the first of each

// What the codes of input i stand for.
ValueId dequantized(NodeParser& parser, size_t i) {
  const size_t nth = i - kEmbedWordTable;
  std::vector<ValueId> inputs = {parser.required(i), parser.required(kScales + nth)};
  if (parser.has_input(kZeros + nth)) inputs.push_back(parser.node.input(kZeros + nth));
  return parser.emit_before("DequantizeLinear", std::move(inputs));
}

void parse(NodeParser& parser) { become_embedding(parser, dequantized, kNoValue); }

}  // namespace

extern constinit const OpDef kQEmbedLayerNormalization =
    contrib_operator("QEmbedLayerNormalization", {12, 18}, parse, {1, 2});
}  // namespace octet
