// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/space_depth.h"

#include <string>

#include "core/check.h"

namespace octet {

SpaceDepth space_depth_of(const Node& node, const Shape& input) {
  constexpr auto kInvalid = Error::Code::invalid_model;
  if (input.rank() != 4) {
    fail(kInvalid, "the input is {}, expected N, C, H, W", to_string(input));
  }
  const s64 block = node.attrs.i("blocksize");
  if (block < 1) fail(kInvalid, "attribute 'blocksize' is {}, expected at least 1", block);
  const std::string mode = node.attrs.s("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    fail(kInvalid, "attribute 'mode' is '{}', expected DCR or CRD", mode);
  }
  return {block, mode == "DCR"};
}

}  // namespace octet
