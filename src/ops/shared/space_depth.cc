// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/space_depth.h"

#include "core/check.h"
#include "ops/attributes/moves.h"

namespace octet {

SpaceDepth space_depth_of(const Node& node, const Shape& input) {
  constexpr auto kInvalid = Error::Code::invalid_model;
  if (input.rank() != 4) {
    fail(kInvalid, "the input is {}, expected N, C, H, W", to_string(input));
  }
  const auto [block, order] = attributes_of<BlocksAttributes>(node);
  if (block < 1) fail(kInvalid, "attribute 'blocksize' is {}, expected at least 1", block);
  return {block, order == BlockOrder::depth_first};
}

}  // namespace octet
