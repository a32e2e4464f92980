// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/check.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/resize.h"
#include "ops/shared/resize_axis.h"

namespace octet {
namespace {

constexpr f64 kMaxSize = 1LL << 31;

// The dimensions that scales, sizes and roi speak of.
std::vector<int> resized_axes(const ResizeAttributes& attributes, int rank) {
  if (attributes.axes) return normalize_axes(*attributes.axes, rank);
  std::vector<int> axes(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) axes[static_cast<size_t>(i)] = i;
  return axes;
}

void check_count(std::string_view what, size_t got, size_t expected) {
  if (got == expected) return;
  fail(Error::Code::invalid_model, "{} has {} values, expected {}", what, got, expected);
}

s64 checked_size(f64 size) {
  if (size >= 0.0 && size <= kMaxSize) return static_cast<s64>(size);
  fail(Error::Code::invalid_model, "the output would have a dimension of {}", size);
}

ResizeSpan scaled(s64 in, f32 scale) {
  if (!(scale > 0.0f) || !std::isfinite(scale)) {
    fail(Error::Code::invalid_model, "scale {} is not a positive number", scale);
  }
  const f64 length = static_cast<f64>(in) * f64{scale};
  return {.in = in,
          .out = checked_size(std::floor(length)),
          .length = static_cast<f32>(length),
          .scale = scale};
}

ResizeSpan sized(s64 in, s64 out) {
  checked_size(static_cast<f64>(out));
  return {.in = in,
          .out = out,
          .length = static_cast<f32>(out),
          .scale = in == 0 ? 1.0f : static_cast<f32>(out) / static_cast<f32>(in)};
}

// keep_aspect_ratio_policy: all axes by the smallest or the largest of the scales that sizes ask for.
void keep_aspect(ResizePolicy policy, std::span<const int> axes, std::vector<ResizeSpan>& spans) {
  if (policy == ResizePolicy::stretch || axes.empty()) return;
  f32 common = spans[static_cast<size_t>(axes[0])].scale;
  for (int axis : axes) {
    const f32 scale = spans[static_cast<size_t>(axis)].scale;
    common = policy == ResizePolicy::not_larger ? std::min(common, scale) : std::max(common, scale);
  }
  for (int axis : axes) {
    ResizeSpan& span = spans[static_cast<size_t>(axis)];
    span.out = checked_size(std::floor(static_cast<f64>(span.in) * f64{common} + 0.5));
    span.length = static_cast<f32>(span.out);
    span.scale = common;
  }
}

void set_roi(std::span<const int> axes, std::span<const f32> roi, std::vector<ResizeSpan>& spans) {
  check_count("roi", roi.size(), 2 * axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeSpan& span = spans[static_cast<size_t>(axes[i])];
    span.roi_start = roi[i];
    span.roi_end = roi[axes.size() + i];
  }
}

bool crops(const ResizeAttributes& attributes) {
  return attributes.coordinate_transformation_mode == ResizeCoordinates::tf_crop_and_resize;
}

std::vector<ResizeSpan> spans_of(const ResizeAttributes& attributes, const Shape& input,
                                 const ResizeParameters& parameters) {
  const std::vector<int> axes = resized_axes(attributes, input.rank());
  std::vector<ResizeSpan> spans;
  for (s64 dim : input) spans.push_back({.in = dim, .out = dim, .length = static_cast<f32>(dim)});
  if (!parameters.scales.empty()) {
    check_count("scales", parameters.scales.size(), axes.size());
  } else {
    check_count("sizes", parameters.sizes.size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeSpan& span = spans[static_cast<size_t>(axes[i])];
    span = parameters.scales.empty() ? sized(span.in, parameters.sizes[i])
                                     : scaled(span.in, parameters.scales[i]);
    if (span.in == 0 && span.out != 0) {
      fail(Error::Code::invalid_model, "an empty dimension of {} cannot become {}",
           to_string(input), span.out);
    }
  }
  if (parameters.scales.empty()) keep_aspect(attributes.keep_aspect_ratio_policy, axes, spans);
  if (crops(attributes)) set_roi(axes, parameters.roi, spans);
  return spans;
}

bool is_identity(const ResizeAttributes& attributes, const ResizeSpan& span) {
  return span.in == span.out && span.scale == 1.0f &&
         (!crops(attributes) || (span.roi_start == 0.0f && span.roi_end == 1.0f)) &&
         attributes.coordinate_transformation_mode != ResizeCoordinates::tf_half_pixel_for_nn;
}

std::vector<f32> floats(const Eval& eval, size_t i) {
  const FloatInput values(eval, i);
  return {values.values().begin(), values.values().end()};
}

}  // namespace

bool resize_moves_elements(const Node& node) {
  const auto attributes = attributes_of<ResizeAttributes>(node);
  return attributes.mode == ResizeMode::nearest && !crops(attributes);
}

Shape resize_shape(const Node& node, const Shape& input, const ResizeParameters& parameters) {
  Shape output;
  const auto attributes = attributes_of<ResizeAttributes>(node);
  for (const ResizeSpan& span : spans_of(attributes, input, parameters)) output.push_back(span.out);
  return output;
}

ResizeGeometry resize_geometry(const Node& node, const Shape& input,
                               const ResizeParameters& parameters) {
  const auto attributes = attributes_of<ResizeAttributes>(node);
  ResizeGeometry geometry;
  geometry.nearest = attributes.mode == ResizeMode::nearest;
  geometry.extrapolation_value = attributes.extrapolation_value;
  for (const ResizeSpan& span : spans_of(attributes, input, parameters)) {
    geometry.output.push_back(span.out);
    if (!is_identity(attributes, span)) {
      geometry.axes.push_back(resize_axis(attributes, span));
      continue;
    }
    geometry.axes.emplace_back().in = span.in;
    geometry.axes.back().out = span.out;
  }
  return geometry;
}

ResizeParameters resize_parameters(const Eval& eval) {
  return {.roi = floats(eval, 1), .scales = floats(eval, 2), .sizes = read_ints(eval, 3)};
}

}  // namespace octet
