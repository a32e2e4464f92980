// SPDX-License-Identifier: Apache-2.0
// Crop(x) {border, scale}, an experimental operator of early exporters: images without a border of left, top, right and bottom
// pixels, or from the left top corner on with a height and width (scale). It is read as Slice; no graph holds one.
#include <algorithm>
#include <limits>

#include "core/check.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

Tensor ints(std::vector<s64> values) { return Tensor::of<s64>(Shape{std::ssize(values)}, values); }

// Where a cut of `border` pixels at the far side ends.
s64 end_before(s64 border) { return border == 0 ? std::numeric_limits<s64>::max() : -border; }

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const std::vector<s64> border = node.attrs.ints("border", {});
  const std::vector<s64> scale = node.attrs.ints("scale", {});
  constexpr s64 kMax = s64{1} << 31;
  const auto sane = [](s64 x) { return x >= 0 && x <= kMax; };
  const bool fits = border.size() == 4 && (scale.empty() || scale.size() == 2) &&
                    std::ranges::all_of(border, sane) && std::ranges::all_of(scale, sane);
  if (!fits) {
    fail(Error::Code::invalid_model,
         "attribute 'border' has {} values and 'scale' {}, expected 4 and 0 or 2, none negative",
         border.size(), scale.size());
  }
  const s64 left = border[0], top = border[1];
  s64 bottom = end_before(border[3]), right = end_before(border[2]);
  if (!scale.empty()) {
    bottom = top + scale[0];
    right = left + scale[1];
  }
  node.attrs = {};
  parser.set_input(1, ints({top, left}));
  parser.set_input(2, ints({bottom, right}));
  parser.set_input(3, ints({2, 3}));
  parser.become("Slice");
}

}  // namespace

extern constinit const OpDef kCrop{.name = "Crop", .parse = parse};
}  // namespace octet
