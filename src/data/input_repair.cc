// SPDX-License-Identifier: Apache-2.0
// The same data prepared otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "data/pixel_map.h"
#include "data/preprocess.h"

namespace octet {
namespace {

// A hundredth of all shades: a mean difference of red and blue that says something.
constexpr f64 kTint = 0.01;

// The map that made what was seen, as far as it can be told.
std::optional<PixelMap> present_map(const InputProfile& seen, const InputHistory& history) {
  const size_t channels = seen.channels.size();
  if (history.photos && history.applied) return map_of(*history.applied, channels, "");
  if (history.remembered) return map_of(*history.remembered, channels, "");
  const std::vector<PixelMap> maps = family_maps(channels);
  const PixelMap* maker = maker_of(seen, maps);
  return maker == nullptr ? std::nullopt : std::optional(*maker);
}

// How much more of the first channel there is than of the last, as a share of all shades.
f64 tint(const InputProfile& profile, const PixelMap& map) {
  const auto pixel = [&](size_t c) {
    return (profile.channels[c].mean - map.offset[c]) / map.factor[c] / 255;
  };
  return pixel(0) - pixel(2);
}

bool has_turned(const KnownInputs& known, size_t i, const InputProfile& seen, const PixelMap& map) {
  if (i >= known.calibrated.size() || known.calibrated[i].channels.size() != 3) return false;
  const f64 then = tint(known.calibrated[i], map), now = tint(seen, map);
  return then * now < 0 && std::abs(then) > kTint && std::abs(now) > kTint;
}

InputDoubt prepared_as(const PixelMap& from, const PixelMap& to, const InputHistory& history,
                       size_t input) {
  InputDoubt other;
  other.cause = InputDoubt::Cause::wrong_mean;
  other.input = input;
  other.repair = between(from, to);
  other.text = fmt::format("prepared as {}", to.name);
  const bool turned = to.numbers.color != from.numbers.color;
  if (history.photos) other.change = change_to(to, history);
  other.reverse_channels = turned;
  return other;
}

}  // namespace

std::string_view to_string(InputDoubt::Cause cause) {
  constexpr std::string_view kNames[] = {"scaled_twice", "not_scaled", "wrong_mean",  "bgr",
                                         "layout",       "beyond",     "unlike_codes"};
  return kNames[static_cast<size_t>(cause)];
}

InputDoubt reversed_channels(const PixelMap& map) {
  InputDoubt doubt;
  doubt.cause = InputDoubt::Cause::bgr;
  doubt.reverse_channels = true;
  doubt.text = "with the channels in the opposite order";
  doubt.repair = between(reversed(map), map);
  return doubt;
}

std::vector<InputDoubt> other_preparations(const KnownInputs& known,
                                           std::span<const InputProfile> seen,
                                           const InputHistory& history, bool mostly_wrong) {
  std::vector<InputDoubt> others;
  for (size_t i = 0; i < std::min(seen.size(), known.infos.size()); ++i) {
    const size_t channels = seen[i].channels.size();
    const bool image = image_channel_axis(known.infos[i].type.shape) >= 0;
    if (!image || known.infos[i].type.dtype != Dtype::f32 || (channels != 1 && channels != 3))
      continue;
    const auto map = present_map(seen[i], history);
    if (channels == 3 && map && (mostly_wrong || has_turned(known, i, seen[i], *map))) {
      others.push_back(reversed_channels(*map));
      others.back().input = i;
      using Color = Preprocess::Color;
      if (history.photos && history.applied)
        others.back().change.color = history.applied->color == Color::bgr ? Color::rgb : Color::bgr;
    }
    if (!map || !mostly_wrong || !known.calibrated.empty()) continue;
    for (const PixelMap& family : family_maps(channels)) {
      if (distance(*map, family) > 0.02) others.push_back(prepared_as(*map, family, history, i));
    }
  }
  return others;
}

Tensor repaired(const Tensor& tensor, const InputDoubt& doubt) {
  if (tensor.dtype() != Dtype::f32 || tensor.elements() == 0) return tensor;
  const Shape& shape = tensor.shape();
  const int axis = image_channel_axis(shape);
  const size_t channels = axis < 0 ? 1 : static_cast<size_t>(shape[axis]);
  size_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= static_cast<size_t>(shape[i]);
  if (axis < 0) inner = static_cast<size_t>(tensor.elements());
  Tensor result(Dtype::f32, shape);
  const std::span<const f32> from = tensor.as<f32>();
  const std::span<f32> to = result.mutable_as<f32>();
  const auto of = [](const std::vector<f64>& values, size_t c) {
    return values.size() == 1 ? values[0] : values[std::min(c, values.size() - 1)];
  };
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t c = i / inner % channels;
    const size_t other = doubt.reverse_channels ? channels - 1 - c : c;
    f64 value = static_cast<f64>(from[i - c * inner + other * inner]);
    if (doubt.repair) value = value * of(doubt.repair->factor, c) + of(doubt.repair->offset, c);
    to[i] = static_cast<f32>(value);
  }
  return result;
}

}  // namespace octet
