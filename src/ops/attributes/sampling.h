// SPDX-License-Identifier: Apache-2.0
// Attributes of what samples images between their pixels.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "graph/attributes.h"

namespace octet {

enum class ResizeMode : u8 { nearest, linear, cubic };
enum class ResizeCoordinates : u8 {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize,
};
// `simple` is what opset 10 left to implementations: down for enlarging, up for shrinking.
enum class ResizeNearest : u8 { round_prefer_floor, round_prefer_ceil, floor, ceil, simple };
enum class ResizePolicy : u8 { stretch, not_larger, not_smaller };

constexpr auto attribute_words(ResizeMode) {
  return std::to_array<AttributeWord<ResizeMode>>({{"nearest", ResizeMode::nearest},
                                                   {"linear", ResizeMode::linear},
                                                   {"cubic", ResizeMode::cubic}});
}

constexpr auto attribute_words(ResizeCoordinates) {
  return std::to_array<AttributeWord<ResizeCoordinates>>(
      {{"half_pixel", ResizeCoordinates::half_pixel},
       {"half_pixel_symmetric", ResizeCoordinates::half_pixel_symmetric},
       {"pytorch_half_pixel", ResizeCoordinates::pytorch_half_pixel},
       {"align_corners", ResizeCoordinates::align_corners},
       {"asymmetric", ResizeCoordinates::asymmetric},
       {"tf_half_pixel_for_nn", ResizeCoordinates::tf_half_pixel_for_nn},
       {"tf_crop_and_resize", ResizeCoordinates::tf_crop_and_resize}});
}

constexpr auto attribute_words(ResizeNearest) {
  return std::to_array<AttributeWord<ResizeNearest>>(
      {{"round_prefer_floor", ResizeNearest::round_prefer_floor},
       {"round_prefer_ceil", ResizeNearest::round_prefer_ceil},
       {"floor", ResizeNearest::floor},
       {"ceil", ResizeNearest::ceil},
       {"simple", ResizeNearest::simple}});
}

constexpr auto attribute_words(ResizePolicy) {
  return std::to_array<AttributeWord<ResizePolicy>>({{"stretch", ResizePolicy::stretch},
                                                     {"not_larger", ResizePolicy::not_larger},
                                                     {"not_smaller", ResizePolicy::not_smaller}});
}

// Interpolate, QInterpolate: those of Resize that compute.
struct InterpolateAttributes {
  bool antialias = false;
  std::optional<std::vector<s64>> axes;  // that scales, sizes and roi speak of; absent: all
  ResizeCoordinates coordinate_transformation_mode = ResizeCoordinates::half_pixel;
  f32 cubic_coeff_a = -0.75f;
  bool exclude_outside = false;
  ResizePolicy keep_aspect_ratio_policy = ResizePolicy::stretch;
  ResizeMode mode = ResizeMode::nearest;

  OCTET_ATTRIBUTES(antialias, axes, coordinate_transformation_mode, cubic_coeff_a, exclude_outside,
                   keep_aspect_ratio_policy, mode)
};

struct ResizeAttributes : InterpolateAttributes {
  f32 extrapolation_value = 0.0f;
  ResizeNearest nearest_mode = ResizeNearest::round_prefer_floor;

  OCTET_MORE_ATTRIBUTES(InterpolateAttributes, extrapolation_value, nearest_mode)
};

struct QInterpolateAttributes : InterpolateAttributes {
  f32 multiplier = 1.0f;  // the scale of x by that of y

  OCTET_MORE_ATTRIBUTES(InterpolateAttributes, multiplier)
};

enum class GridMode : u8 { nearest, linear, cubic };
enum class GridPadding : u8 { zeros, border, reflection };

constexpr auto attribute_words(GridMode) {
  return std::to_array<AttributeWord<GridMode>>(
      {{"nearest", GridMode::nearest}, {"linear", GridMode::linear}, {"cubic", GridMode::cubic}});
}

constexpr auto attribute_words(GridPadding) {
  return std::to_array<AttributeWord<GridPadding>>({{"zeros", GridPadding::zeros},
                                                    {"border", GridPadding::border},
                                                    {"reflection", GridPadding::reflection}});
}

struct GridSampleAttributes {
  GridMode mode = GridMode::linear;
  GridPadding padding_mode = GridPadding::zeros;
  bool align_corners = false;

  OCTET_ATTRIBUTES(mode, padding_mode, align_corners)
};

}  // namespace octet
