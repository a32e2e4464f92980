// SPDX-License-Identifier: Apache-2.0
// com.microsoft EmbedLayerNormalization(words, segments, tables of words, positions and segments, gamma, beta, mask, positions).
#include "ops/shared/embed_layer_norm.h"

namespace octet {
namespace {

constexpr size_t kPositions = 8;

ValueId given(NodeParser& parser, size_t i) { return parser.required(i); }

void parse(NodeParser& parser) { become_embedding(parser, given, parser.node.input(kPositions)); }

}  // namespace

extern constinit const OpDef kEmbedLayerNormalization{.name = "EmbedLayerNormalization",
                                                      .domain = "com.microsoft",
                                                      .inputs = {7, 9},
                                                      .outputs = {1, 3},
                                                      .parse = parse};
}  // namespace octet
