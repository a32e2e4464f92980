// SPDX-License-Identifier: Apache-2.0
// com.microsoft EmbedLayerNormalization(words, segments, tables of words, positions and segments, gamma, beta, mask, positions).
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
  kPositions
};

void parse(NodeParser& parser) {
  const bool segments = parser.has_input(kSegments);
  become_embedding(parser, {.words = parser.required(kWords),
                            .segments = parser.node.input(kSegments),
                            .positions = parser.node.input(kPositions),
                            .word_table = parser.required(kWordTable),
                            .position_table = parser.required(kPositionTable),
                            .segment_table = segments ? parser.required(kSegmentTable) : kNoValue,
                            .gamma = parser.required(kGamma),
                            .beta = parser.required(kBeta),
                            .shown = parser.node.input(kMask)});
}

}  // namespace

extern constinit const OpDef kEmbedLayerNormalization{.name = "EmbedLayerNormalization",
                                                      .domain = "com.microsoft",
                                                      .inputs = {7, 9},
                                                      .outputs = {1, 3},
                                                      .parse = parse};
}  // namespace octet
