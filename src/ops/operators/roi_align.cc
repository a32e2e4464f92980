// SPDX-License-Identifier: Apache-2.0
// RoiAlign(x[N, C, H, W], rois[R, 4], images[R]): each region in a grid of bins; a bin is the mean or the maximum of samples
// interpolated between four pixels.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/check.h"
#include "graph/attributes.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

constexpr s64 kMaxSamples = 4096;  // of a bin, along one axis
constexpr s64 kMaxBins = 1 << 20;

// Before opset 16 there was no shift by half a pixel.
void parse(NodeParser& parser) {
  if (parser.opset < 16)
    parser.node.attrs.set("coordinate_transformation_mode", std::string("output_half_pixel"));
}

enum class RoiMode : u8 { average, maximum };

constexpr auto attribute_words(RoiMode) {
  return std::to_array<AttributeWord<RoiMode>>(
      {{"avg", RoiMode::average}, {"max", RoiMode::maximum}});
}

enum class RoiCoordinates : u8 { half_pixel, output_half_pixel };

constexpr auto attribute_words(RoiCoordinates) {
  return std::to_array<AttributeWord<RoiCoordinates>>(
      {{"half_pixel", RoiCoordinates::half_pixel},
       {"output_half_pixel", RoiCoordinates::output_half_pixel}});
}

struct RoiAlignAttributes {
  RoiMode mode = RoiMode::average;
  RoiCoordinates coordinate_transformation_mode = RoiCoordinates::half_pixel;
  s64 output_height = 1;
  s64 output_width = 1;
  s64 sampling_ratio = 0;
  f32 spatial_scale = 1.0f;

  OCTET_ATTRIBUTES(mode, coordinate_transformation_mode, output_height, output_width,
                   sampling_ratio, spatial_scale)
};

struct Settings {
  bool maximum = false;
  bool half_pixel = true;
  s64 height = 1, width = 1, sampling = 0;
  f32 scale = 1.0f;
};

Settings settings_of(const Node& node) {
  const auto a = attributes_of<RoiAlignAttributes>(node);
  const Settings s{a.mode == RoiMode::maximum,
                   a.coordinate_transformation_mode == RoiCoordinates::half_pixel,
                   a.output_height,
                   a.output_width,
                   a.sampling_ratio,
                   a.spatial_scale};
  const auto fits = [](s64 n) { return n >= 1 && n <= kMaxBins; };
  if (!fits(s.height) || !fits(s.width) || s.sampling < 0 || s.sampling > kMaxSamples)
    fail(Error::Code::invalid_model, "output {}x{} with sampling ratio {} is not possible",
         s.height, s.width, s.sampling);
  return s;
}

void infer(Inference& inference) {
  const Shape &x = inference.inputs[0].shape, &rois = inference.inputs[1].shape;
  require_dtype(inference, 0, DtypeClass::real);
  require_dtype(inference, 1, DtypeClass::real);
  require_dtype(inference, 2, DtypeClass::index);
  const Settings s = settings_of(inference.node);
  if (x.rank() != 4 || rois.rank() != 2 || rois[1] != 4 ||
      inference.inputs[2].shape != Shape{rois[0]})
    fail(Error::Code::invalid_model, "the input is {}, the regions {} and the images {}",
         to_string(x), to_string(rois), to_string(inference.inputs[2].shape));
  inference.output(inference.inputs[0].dtype, Shape{rois[0], x[1], s.height, s.width});
}

// One axis of a sample: two pixels and the weight of the second; none: outside.
struct Between {
  s64 low = 0, high = 0;
  f32 weight = 0.0f;
  bool inside = false;
};

Between between(f32 at, s64 size) {
  if (!(at >= -1.0f && at <= static_cast<f32>(size)) || size == 0) return {};
  at = std::max(at, 0.0f);
  const s64 low = static_cast<s64>(at);
  if (low >= size - 1) return {size - 1, size - 1, 0.0f, true};
  return {low, low + 1, at - static_cast<f32>(low), true};
}

// The samples of one bin along one axis.
struct Samples {
  f32 first, step;
  s64 count;
};

class Region {
 public:
  Region(const Settings& s, const f32* roi) : s_(s) {
    const f32 shift = s.half_pixel ? 0.5f : 0.0f;
    for (size_t i = 0; i < 4; ++i) {
      edges_[i] = roi[i] * s.scale - shift;
      if (!std::isfinite(edges_[i]))
        fail(Error::Code::invalid_argument, "a region has an edge of {}", roi[i]);
    }
  }
  Samples rows(s64 bin) const { return samples(edges_[1], edges_[3], bin, s_.height); }
  Samples columns(s64 bin) const { return samples(edges_[0], edges_[2], bin, s_.width); }

 private:
  Samples samples(f32 begin, f32 end, s64 bin, s64 bins) const {
    const f32 length = s_.half_pixel ? end - begin : std::max(end - begin, 1.0f);
    const f32 size = length / static_cast<f32>(bins);
    const f32 wanted = s_.sampling > 0 ? static_cast<f32>(s_.sampling) : std::ceil(size);
    if (wanted > static_cast<f32>(kMaxSamples))
      fail(Error::Code::invalid_argument, "a region needs {} samples a bin, the limit is {}",
           wanted, kMaxSamples);
    const s64 count = std::max(static_cast<s64>(wanted), s64{0});
    const f32 step = count > 0 ? size / static_cast<f32>(count) : 0.0f;
    return {begin + static_cast<f32>(bin) * size + 0.5f * step, step, count};
  }

  const Settings& s_;
  std::array<f32, 4> edges_{};  // x1, y1, x2, y2
};

// The four weighted pixels of a sample.
std::array<f32, 4> pixels(const f32* plane, s64 width, const Between& y, const Between& x) {
  const f32 y0 = 1.0f - y.weight, x0 = 1.0f - x.weight;
  return {y0 * x0 * plane[y.low * width + x.low], y0 * x.weight * plane[y.low * width + x.high],
          y.weight * x0 * plane[y.high * width + x.low],
          y.weight * x.weight * plane[y.high * width + x.high]};
}

f32 bin_value(const Settings& s, const f32* plane, const Shape& shape, const Samples& rows,
              const Samples& columns) {
  f32 sum = 0.0f, best = 0.0f;
  bool first = true;
  for (s64 i = 0; i < rows.count; ++i) {
    const Between y = between(rows.first + static_cast<f32>(i) * rows.step, shape[2]);
    for (s64 j = 0; j < columns.count; ++j) {
      const Between x = between(columns.first + static_cast<f32>(j) * columns.step, shape[3]);
      std::array<f32, 4> four{};
      if (y.inside && x.inside) four = pixels(plane, shape[3], y, x);
      sum += four[0] + four[1] + four[2] + four[3];
      for (const f32 part : four) {
        best = first ? part : larger(best, part);
        first = false;
      }
    }
  }
  return s.maximum ? best : sum / static_cast<f32>(std::max(rows.count * columns.count, s64{1}));
}

void eval(const Eval& eval) {
  const Shape &shape = eval.inputs[0].shape, &out = eval.outputs[0].shape;
  const Settings s = settings_of(eval.node);
  const FloatInput x(eval, 0), rois(eval, 1);
  const std::vector<s64> images = read_ints(eval, 2);
  const FloatOutput y(eval.outputs[0]);
  const s64 bins = s.height * s.width, plane = shape[2] * shape[3];
  for (s64 row = 0; out.elements() > 0 && row < out[0] * out[1]; ++row) {
    const s64 roi = row / out[1], image = images[static_cast<size_t>(roi)];
    if (image < 0 || image >= shape[0])
      fail(Error::Code::invalid_argument, "region {} lies in image {} of {}", roi, image, shape[0]);
    const Region region(s, rois.data() + roi * 4);
    const f32* channel = x.data() + (image * shape[1] + row % out[1]) * plane;
    for (s64 bin = 0; bin < bins; ++bin) {
      y[row * bins + bin] =
          bin_value(s, channel, shape, region.rows(bin / s.width), region.columns(bin % s.width));
    }
  }
  y.store();
}

// Each bin is a grid of samples; without a sampling ratio, the regions tell how many.
f64 work(const Node& node, TensorTypes, TensorTypes outputs) {
  const s64 given = settings_of(node).sampling;
  const f64 samples = static_cast<f64>(given > 0 ? given : kMaxSamples);
  return element_count(outputs[0].shape) * samples * samples * 4;
}

constexpr FloatAttribute kFloats[] = {{"spatial_scale", FloatDomain::positive}};
constexpr OpTraits kTraits{.work = work, .floats = kFloats};

}  // namespace

extern constinit const OpDef kRoiAlign{.name = "RoiAlign",
                                       .inputs = {3, 3},
                                       .parse = parse,
                                       .infer = infer,
                                       .eval = eval,
                                       .traits = &kTraits};
}  // namespace octet
