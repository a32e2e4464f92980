// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/grid_sample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/check.h"

namespace octet {
namespace {

template <size_t N>
size_t choice(const Node& node, std::string_view attr, const std::array<const char*, N>& names,
              size_t otherwise) {
  const std::string value = node.attrs.s(attr, names[otherwise]);
  const auto at = std::find(names.begin(), names.end(), value);
  if (at != names.end()) return static_cast<size_t>(at - names.begin());
  fail(Error::Code::unsupported, "attribute '{}' is '{}', expected one of {}", attr, value,
       fmt::join(names, ", "));
}

}  // namespace

GridSampling grid_sampling(const Node& node) {
  constexpr std::array<const char*, 3> kModes = {"nearest", "linear", "cubic"};
  constexpr std::array<const char*, 3> kPaddings = {"zeros", "border", "reflection"};
  return {static_cast<GridMode>(choice(node, "mode", kModes, 1)),
          static_cast<GridPadding>(choice(node, "padding_mode", kPaddings, 0)),
          node.attrs.i("align_corners", 0) != 0};
}

f32 grid_reflected(f32 x, f32 low, f32 high) {
  const f32 range = high - low;
  if (range <= 0.0f) return low;
  const f32 distance = x < low ? low - x : x - low;
  const f32 rest = std::fmod(distance, 2.0f * range);
  return rest <= range ? low + rest : high - (rest - range);
}

}  // namespace octet
