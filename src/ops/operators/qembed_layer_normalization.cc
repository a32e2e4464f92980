// SPDX-License-Identifier: Apache-2.0
// com.microsoft QEmbedLayerNormalization(words, segments, codes of the tables of words, positions and segments, of gamma and beta, mask, their scales, their zero
// points): EmbedLayerNormalization of the reals that the codes stand for.
#include "ops/shared/embed_layer_norm.h"

namespace octet {
namespace {

enum : size_t {
  kWords,
  kSegments,
  kWordTable,
  kPositionTable,
  kSegmentTable,
  kGamma,
  kBeta,
  kMask,
  kScales,
  kZeros = 13
};

// What the codes of input i stand for.
ValueId real(NodeParser& parser, size_t i) {
  const size_t nth = i - kWordTable;
  std::vector<ValueId> inputs = {parser.required(i), parser.required(kScales + nth)};
  if (parser.has_input(kZeros + nth)) inputs.push_back(parser.node.input(kZeros + nth));
  return parser.emit_before("DequantizeLinear", std::move(inputs));
}

void parse(NodeParser& parser) {
  const bool segments = parser.has_input(kSegments);
  become_embedding(parser, {.words = parser.required(kWords),
                            .segments = parser.node.input(kSegments),
                            .word_table = real(parser, kWordTable),
                            .position_table = real(parser, kPositionTable),
                            .segment_table = segments ? real(parser, kSegmentTable) : kNoValue,
                            .gamma = real(parser, kGamma),
                            .beta = real(parser, kBeta),
                            .shown = parser.node.input(kMask)});
}

}  // namespace

extern constinit const OpDef kQEmbedLayerNormalization{.name = "QEmbedLayerNormalization",
                                                       .domain = "com.microsoft",
                                                       .inputs = {12, 18},
                                                       .outputs = {1, 2},
                                                       .parse = parse};
}  // namespace octet
