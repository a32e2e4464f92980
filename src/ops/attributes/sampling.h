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

inline AttributeNames<ResizeMode> attribute_names(ResizeMode) {
  static constexpr std::array<std::pair<std::string_view, ResizeMode>, 3> kNames{
      {{"nearest", ResizeMode::nearest},
       {"linear", ResizeMode::linear},
       {"cubic", ResizeMode::cubic}}};
  return kNames;
}

inline AttributeNames<ResizeCoordinates> attribute_names(ResizeCoordinates) {
  static constexpr std::array<std::pair<std::string_view, ResizeCoordinates>, 7> kNames{
      {{"half_pixel", ResizeCoordinates::half_pixel},
       {"half_pixel_symmetric", ResizeCoordinates::half_pixel_symmetric},
       {"pytorch_half_pixel", ResizeCoordinates::pytorch_half_pixel},
       {"align_corners", ResizeCoordinates::align_corners},
       {"asymmetric", ResizeCoordinates::asymmetric},
       {"tf_half_pixel_for_nn", ResizeCoordinates::tf_half_pixel_for_nn},
       {"tf_crop_and_resize", ResizeCoordinates::tf_crop_and_resize}}};
  return kNames;
}

inline AttributeNames<ResizeNearest> attribute_names(ResizeNearest) {
  static constexpr std::array<std::pair<std::string_view, ResizeNearest>, 5> kNames{
      {{"round_prefer_floor", ResizeNearest::round_prefer_floor},
       {"round_prefer_ceil", ResizeNearest::round_prefer_ceil},
       {"floor", ResizeNearest::floor},
       {"ceil", ResizeNearest::ceil},
       {"simple", ResizeNearest::simple}}};
  return kNames;
}

inline AttributeNames<ResizePolicy> attribute_names(ResizePolicy) {
  static constexpr std::array<std::pair<std::string_view, ResizePolicy>, 3> kNames{
      {{"stretch", ResizePolicy::stretch},
       {"not_larger", ResizePolicy::not_larger},
       {"not_smaller", ResizePolicy::not_smaller}}};
  return kNames;
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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("antialias", self.antialias);
    field("axes", self.axes);
    field("coordinate_transformation_mode", self.coordinate_transformation_mode);
    field("cubic_coeff_a", self.cubic_coeff_a);
    field("exclude_outside", self.exclude_outside);
    field("keep_aspect_ratio_policy", self.keep_aspect_ratio_policy);
    field("mode", self.mode);
  }
};

struct ResizeAttributes : InterpolateAttributes {
  f32 extrapolation_value = 0.0f;
  ResizeNearest nearest_mode = ResizeNearest::round_prefer_floor;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    InterpolateAttributes::fields(self, field);
    field("extrapolation_value", self.extrapolation_value);
    field("nearest_mode", self.nearest_mode);
  }
};

struct QInterpolateAttributes : InterpolateAttributes {
  f32 multiplier = 1.0f;  // the scale of x by that of y

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    InterpolateAttributes::fields(self, field);
    field("multiplier", self.multiplier);
  }
};

enum class GridMode : u8 { nearest, linear, cubic };
enum class GridPadding : u8 { zeros, border, reflection };

inline AttributeNames<GridMode> attribute_names(GridMode) {
  static constexpr std::array<std::pair<std::string_view, GridMode>, 3> kNames{
      {{"nearest", GridMode::nearest}, {"linear", GridMode::linear}, {"cubic", GridMode::cubic}}};
  return kNames;
}

inline AttributeNames<GridPadding> attribute_names(GridPadding) {
  static constexpr std::array<std::pair<std::string_view, GridPadding>, 3> kNames{
      {{"zeros", GridPadding::zeros},
       {"border", GridPadding::border},
       {"reflection", GridPadding::reflection}}};
  return kNames;
}

struct GridSampleAttributes {
  GridMode mode = GridMode::linear;
  GridPadding padding_mode = GridPadding::zeros;
  bool align_corners = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("mode", self.mode);
    field("padding_mode", self.padding_mode);
    field("align_corners", self.align_corners);
  }
};

}  // namespace octet
