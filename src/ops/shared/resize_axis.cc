// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "core/rounding.h"

namespace octet {
namespace {

// Where output `o` lies in the input; f32 throughout, since a rounding at .5 decides which element nearest takes.
f32 source_position(const ResizeAttributes& attributes, const ResizeSpan& span, s64 o) {
  const f32 x = static_cast<f32>(o);
  const f32 in = static_cast<f32>(span.in);
  const f32 out = static_cast<f32>(span.out);
  switch (attributes.coordinate_transformation_mode) {
    case ResizeCoordinates::half_pixel:
      return (x + 0.5f) / span.scale - 0.5f;
    case ResizeCoordinates::half_pixel_symmetric: {
      const f32 adjustment = out / (span.scale * in);
      return in / 2.0f * (1.0f - adjustment) + (x + 0.5f) / span.scale - 0.5f;
    }
    case ResizeCoordinates::pytorch_half_pixel:
      return span.out > 1 ? (x + 0.5f) / span.scale - 0.5f : 0.0f;
    case ResizeCoordinates::align_corners:
      return span.out > 1 ? x * (in - 1.0f) / (span.length - 1.0f) : 0.0f;
    case ResizeCoordinates::asymmetric:
      return x / span.scale;
    case ResizeCoordinates::tf_half_pixel_for_nn:
      return (x + 0.5f) / span.scale;
    case ResizeCoordinates::tf_crop_and_resize:
      break;
  }
  if (span.out <= 1) return 0.5f * (span.roi_start + span.roi_end) * (in - 1.0f);
  return span.roi_start * (in - 1.0f) +
         x * (span.roi_end - span.roi_start) * (in - 1.0f) / (out - 1.0f);
}

f32 nearest_position(ResizeNearest mode, f32 x, bool shrinking) {
  switch (mode) {
    case ResizeNearest::round_prefer_floor:
      return std::ceil(x - 0.5f);
    case ResizeNearest::round_prefer_ceil:
      return std::floor(x + 0.5f);
    case ResizeNearest::floor:
      return std::floor(x);
    case ResizeNearest::ceil:
      return std::ceil(x);
    case ResizeNearest::simple:
      break;
  }
  return shrinking ? std::ceil(x) : std::floor(x);
}

// Position as integer; far-off values (a crop may ask for any) are brought near before they could overflow.
s64 to_index(f32 position, s64 in) {
  return static_cast<s64>(clamp_f32(position, -1.0f, static_cast<f32>(in)));
}

f32 cubic_weight(f32 distance, f32 a) {
  const f32 x = std::fabs(distance);
  if (x < 1.0f) return ((a + 2.0f) * x - (a + 3.0f)) * x * x + 1.0f;
  if (x < 2.0f) return ((a * x - 5.0f * a) * x + 8.0f * a) * x - 4.0f * a;
  return 0.0f;
}

// Weight of an element at `distance` from the source position.
f32 filter(const ResizeAttributes& attributes, f32 distance) {
  if (attributes.mode == ResizeMode::cubic) return cubic_weight(distance, attributes.cubic_coeff_a);
  return std::max(1.0f - std::fabs(distance), 0.0f);
}

struct Taps {
  s64 before;  // taps start at floor(position) - before
  s64 count;
  f32 stretch;  // the filter widens by 1 / stretch when an antialiased axis shrinks
};

Taps taps_of(const ResizeAttributes& attributes, const ResizeSpan& span) {
  const f32 radius = attributes.mode == ResizeMode::cubic ? 2.0f : 1.0f;
  const f32 stretch = attributes.antialias ? std::min(span.scale, 1.0f) : 1.0f;
  // No filter needs to reach further than the whole input.
  const f32 reach = std::min(radius / stretch, static_cast<f32>(2 * span.in + 2));
  const s64 before = static_cast<s64>(std::ceil(reach)) - 1;
  return {before, 2 * before + 2, stretch};
}

void fill_output(const ResizeAttributes& attributes, const Taps& taps, f32 position, s64 o,
                 ResizeAxis& axis) {
  const f32 floor = std::floor(clamp_f32(position, -4.0f, static_cast<f32>(axis.in) + 4.0f));
  const f32 fraction = clamp_f32(position - floor, 0.0f, 1.0f);
  f32* weights = axis.weight.data() + o * taps.count;
  s64* indices = axis.index.data() + o * taps.count;
  f32 sum = 0.0f;
  for (s64 k = 0; k < taps.count; ++k) {
    const s64 index = static_cast<s64>(floor) - taps.before + k;
    weights[k] = filter(attributes, (static_cast<f32>(k - taps.before) - fraction) * taps.stretch);
    if (attributes.exclude_outside && (index < 0 || index >= axis.in)) weights[k] = 0.0f;
    indices[k] = std::clamp<s64>(index, 0, axis.in - 1);
    sum += weights[k];
  }
  const bool normalized = attributes.antialias || attributes.exclude_outside;
  for (s64 k = 0; normalized && sum != 0.0f && k < taps.count; ++k) weights[k] /= sum;
}

void mark_outside(const ResizeAttributes& attributes, const ResizeSpan& span, ResizeAxis& axis) {
  if (attributes.coordinate_transformation_mode != ResizeCoordinates::tf_crop_and_resize) return;
  axis.outside.resize(static_cast<size_t>(axis.out), 0);
  for (s64 o = 0; o < axis.out; ++o) {
    const f32 position = source_position(attributes, span, o);
    const bool inside = position >= 0.0f && position <= static_cast<f32>(axis.in - 1);
    axis.outside[static_cast<size_t>(o)] = inside ? 0 : 1;
  }
}

}  // namespace

ResizeAxis resize_axis(const ResizeAttributes& attributes, const ResizeSpan& span) {
  ResizeAxis axis{.in = span.in,
                  .out = span.out,
                  .identity = false,
                  .taps = 1,
                  .index = {},
                  .weight = {},
                  .outside = {}};
  const bool nearest = attributes.mode == ResizeMode::nearest;
  const Taps taps = nearest ? Taps{0, 1, 1.0f} : taps_of(attributes, span);
  axis.taps = taps.count;
  axis.index.resize(static_cast<size_t>(axis.out * axis.taps));
  if (!nearest) axis.weight.resize(axis.index.size());
  for (s64 o = 0; o < axis.out; ++o) {
    const f32 position = source_position(attributes, span, o);
    if (nearest) {
      const f32 at = nearest_position(attributes.nearest_mode, position, span.scale < 1.0f);
      axis.index[static_cast<size_t>(o)] = std::clamp<s64>(to_index(at, axis.in), 0, axis.in - 1);
    } else {
      fill_output(attributes, taps, position, o, axis);
    }
  }
  mark_outside(attributes, span, axis);
  return axis;
}

}  // namespace octet
