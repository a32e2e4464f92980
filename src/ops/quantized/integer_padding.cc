// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/integer_padding.h"

#include <algorithm>
#include <vector>

#include "ops/attributes/window.h"

namespace octet {
namespace {

// What is padded at the start of each axis of an image, and then at the end of each. Nothing where that depends on its sizes.
std::optional<std::vector<s64>> fixed_pads(const WindowAttributes& window, const Shape& weights) {
  const std::vector<s64> none;
  if (window.auto_pad == AutoPad::notset) return window.pads.value_or(none);
  if (window.auto_pad == AutoPad::valid) return none;
  const std::vector<s64> strides = window.strides.value_or(none);
  const std::vector<s64> given = window.dilations.value_or(none);
  const auto spatial = static_cast<size_t>(weights.rank() - 2);
  if (!given.empty() && given.size() != spatial) return {};
  if (std::ranges::any_of(strides, [](s64 stride) { return stride != 1; })) return {};
  // Without strides the window alone tells: as many pixels come out as go in.
  std::vector<s64> pads(2 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const s64 dilation = given.empty() ? 1 : given[i];
    const s64 all = (weights[static_cast<int>(i) + 2] - 1) * dilation;
    pads[i] = window.auto_pad == AutoPad::same_lower ? all - all / 2 : all / 2;
    pads[spatial + i] = all - pads[i];
  }
  return pads;
}

}  // namespace

std::optional<ValueId> padded_by_zero_point(NodeParser& parser, const Shape& weights,
                                            size_t zero_point) {
  constexpr size_t kBatchAndChannels = 2;
  const std::optional<std::vector<s64>> pads_of_window =
      fixed_pads(attributes_of<WindowAttributes>(parser.node), weights);
  if (!pads_of_window) return {};
  const std::vector<s64>& given = *pads_of_window;
  const ValueId x = parser.node.input(0);
  if (std::ranges::all_of(given, [](s64 pad) { return pad == 0; })) return x;
  const size_t spatial = given.size() / 2;
  if (given.size() % 2 != 0 || std::ranges::any_of(given, [](s64 pad) { return pad < 0; }))
    return {};
  std::vector<s64> pads(2 * (spatial + kBatchAndChannels), 0);
  std::copy_n(given.begin(), spatial, pads.begin() + kBatchAndChannels);
  std::copy_n(given.begin() + static_cast<s64>(spatial), spatial,
              pads.end() - static_cast<s64>(spatial));
  erase_attribute<&WindowAttributes::pads>(parser.node.attrs);
  erase_attribute<&WindowAttributes::auto_pad>(parser.node.attrs);
  const ValueId sizes = parser.add_ints(pads);
  return parser.emit_before("Pad", {x, sizes, parser.node.input(zero_point)});
}

}  // namespace octet
