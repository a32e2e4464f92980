// SPDX-License-Identifier: Apache-2.0
// com.microsoft EmbedLayerNormalization(words, segments, tables of words, positions and segments, gamma, beta, mask, positions).
#include "ops/shared/contrib.h"
#include "ops/shared/embed_layer_norm.h"

namespace octet {
namespace {

constexpr size_t kPositions = 8;

ValueId given(NodeParser& parser, size_t i) { return parser.required(i); }

void parse(NodeParser& parser) { become_embedding(parser, given, parser.node.input(kPositions)); }

}  // namespace

extern constinit const OpDef kEmbedLayerNormalization =
    contrib_operator("EmbedLayerNormalization", {7, 9}, parse, {1, 3});
}  // namespace octet
