// SPDX-License-Identifier: Apache-2.0
// f32 depthwise convolution of nhwc images, any window, with its activation and its rounding in registers, for which oneDNN's results are passed
// over once more.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/taps.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_sum_end.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"
#include "ops/attributes/marks.h"
#include "ops/shared/activation.h"
#include "ops/shared/conv.h"

namespace octet {
namespace {

constexpr s64 kMostTaps = 49;
// Channels of the vectors that are made of the pixels of fewer channels.
constexpr s64 kFull = 16;

// How often the channels lie side by side in a vector.
s64 repeats(const ConvGeometry& g) {
  const s64 channels = g.in_channels;
  return channels < kFull && kFull % channels == 0 ? kFull / channels : 1;
}

struct PackedTaps {
  Tensor weights;  // [taps][channels]
  Tensor bias;     // [channels]

  // [channels, 1, window] and [channels], or no bias.
  PackedTaps(const Tensor& given, const Tensor& given_bias, s64 copies) {
    const s64 channels = given.shape()[0], taps = given.elements() / channels,
              width = channels * copies;
    weights = Tensor(Dtype::f32, Shape{taps, width});
    bias = Tensor(Dtype::f32, Shape{width});
    const f32* from = given.as<f32>().data();
    f32* to = weights.mutable_as<f32>().data();
    for (s64 i = 0; i < taps * width; ++i) to[i] = from[i % width % channels * taps + i / width];
    if (!given_bias) return;
    for (s64 i = 0; i < width; ++i)
      bias.mutable_as<f32>()[static_cast<size_t>(i)] =
          given_bias.as<f32>()[static_cast<size_t>(i % channels)];
  }
};

// 3x3 without strides or dilations: rows in pairs.
bool pairs_rows(const ConvGeometry& g) {
  const auto plain = [](const WindowAxis& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
  };
  return plain(g.window.h()) && plain(g.window.w()) && g.in_channels >= kFull;
}

struct TapsStep {
  void (*function)(const TapsArgs*);
  void (*rows_function)(const TapRowsArgs*);
  ConvGeometry geometry;
  SumEndArgs ending;
  s64 copies;
  bool x_halves, y_halves;  // are stored as bf16
  std::shared_ptr<const PackedTaps> packed = nullptr;

  const WindowAxis& h() const { return geometry.window.h(); }
  const WindowAxis& w() const { return geometry.window.w(); }

  struct Taps {
    std::array<const void*, kMostTaps> x;
    std::array<const f32*, kMostTaps> weights;
    s64 count = 0;
  };

  // Of the pixel at `column`, those that are inside the image.
  Taps taps_at(const std::byte* image, s64 row, s64 column) const noexcept {
    const TapRange rows = taps_inside(h(), row), columns = taps_inside(w(), column);
    const auto* weights = reinterpret_cast<const f32*>(packed->weights.data());
    const s64 channels = geometry.in_channels;
    Taps taps;
    for (s64 ky = rows.first; ky < rows.last; ++ky) {
      const s64 y = row * h().stride - h().pad_begin + ky * h().dilation;
      for (s64 kx = columns.first; kx < columns.last; ++kx) {
        const s64 x = column * w().stride - w().pad_begin + kx * w().dilation;
        const auto at = static_cast<size_t>(taps.count++);
        taps.x[at] = image + (y * w().in + x) * channels * element_bytes(x_halves);
        taps.weights[at] = weights + (ky * w().kernel + kx) * channels * copies;
      }
    }
    return taps;
  }

  // Pixels [first, last) of a row, all with the taps of the first.
  void pixels(const std::byte* image, std::byte* out, s64 row, TapRange range) const noexcept {
    const s64 channels = geometry.in_channels, count = range.last - range.first;
    std::byte* dst = out + range.first * channels * element_bytes(y_halves);
    Taps taps = taps_at(image, row, range.first);
    TapsArgs args{.taps = taps.x.data(),
                  .weights = taps.weights.data(),
                  .tap_count = taps.count,
                  .bias = reinterpret_cast<const f32*>(packed->bias.data()),
                  .dst = dst,
                  .count = count,
                  .step = w().stride * channels,
                  .channels = channels,
                  .end = ending,
                  .src_halves = x_halves,
                  .dst_halves = y_halves};
    if (copies == 1 || w().stride != 1 || count < copies) return function(&args);
    args.count = count / copies;
    args.step = args.channels = kFull;
    function(&args);
    const s64 done = args.count * kFull, rest = count * channels - done;
    if (rest == 0) return;
    for (s64 t = 0; t < taps.count; ++t) {
      const void*& x = taps.x[static_cast<size_t>(t)];
      x = static_cast<const std::byte*>(x) + done * element_bytes(x_halves);
    }
    args.dst = dst + done * element_bytes(y_halves);
    args.count = 1;
    args.channels = rest;
    function(&args);
  }

  // Columns whose taps are all inside.
  TapRange whole_columns() const noexcept {
    const s64 left = std::min((w().pad_begin + w().stride - 1) / w().stride, w().out);
    const s64 end = w().in - w().extent() + w().pad_begin;
    return {left, end < 0 ? left : std::clamp(end / w().stride + 1, left, w().out)};
  }

  void row(const std::byte* image, std::byte* out, s64 index, bool inner = true) const noexcept {
    const TapRange whole = whole_columns();
    for (s64 x = 0; x < whole.first; ++x) pixels(image, out, index, {x, x + 1});
    if (inner && whole.first < whole.last) pixels(image, out, index, whole);
    for (s64 x = whole.last; x < w().out; ++x) pixels(image, out, index, {x, x + 1});
  }

  // Whether the taps of this row and the next lie in the same image, all of them.
  bool pairs(s64 index) const noexcept {
    return rows_function != nullptr && index >= h().pad_begin && index + 1 < h().out &&
           index + 1 - h().pad_begin + h().extent() <= h().in;
  }

  void two_rows(const std::byte* image, std::byte* out, s64 index) const noexcept {
    const s64 channels = geometry.in_channels;
    const s64 in_pixel = channels * element_bytes(x_halves),
              out_pixel = channels * element_bytes(y_halves);
    const TapRange whole = whole_columns();
    row(image, out, index, false);
    row(image, out + w().out * out_pixel, index + 1, false);
    if (whole.first >= whole.last) return;
    const s64 y = index - h().pad_begin, x = whole.first - w().pad_begin;
    const TapRowsArgs args{.src = image + (y * w().in + x) * in_pixel,
                           .src_row = w().in * channels,
                           .weights = reinterpret_cast<const f32*>(packed->weights.data()),
                           .bias = reinterpret_cast<const f32*>(packed->bias.data()),
                           .dst = out + whole.first * out_pixel,
                           .dst_row = w().out * channels,
                           .count = whole.last - whole.first,
                           .channels = channels,
                           .end = ending,
                           .src_halves = x_halves,
                           .dst_halves = y_halves};
    rows_function(&args);
  }

  void operator()(const StepArgs& step) const noexcept {
    const s64 channels = geometry.in_channels;
    const s64 in_image = h().in * w().in * channels * element_bytes(x_halves);
    const s64 out_row = w().out * channels;
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) {
        const std::byte* image = step.inputs[0] + i / h().out * in_image;
        std::byte* out = step.outputs[0] + i * out_row * element_bytes(y_halves);
        if (i + 1 < end && pairs(i % h().out)) {
          two_rows(image, out, i++ % h().out);
        } else {
          row(image, out, i % h().out);
        }
      }
    };
    constexpr s64 kSerial = 16384;
    const s64 rows = geometry.batch * h().out;
    if (rows * out_row < kSerial) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

struct TapKernels {
  void (*function)(const TapsArgs*);
  void (*rows_function)(const TapRowsArgs*);
};

TapKernels kernels_for(Isa isa, bool halves) {
  if (halves) return {depthwise_taps_bf16, depthwise_rows_bf16};
  if (isa.has(Isa::neon)) return {depthwise_taps_neon, depthwise_rows_neon};
  if (isa.has(Isa::vnni)) return {depthwise_taps_vnni, depthwise_rows_vnni};
  return {depthwise_taps_avx2, depthwise_rows_avx2};
}

}  // namespace

Offer lower_f_depthwise_taps(const LowerRequest& request) {
  if (attribute_of<&ExactAttributes::exact>(request.node))
    return Reject{"an exact result is asked for"};
  if (std::string reason = halves_reject(request); !reason.empty()) return Reject{reason};
  if (std::string reason = image_conv_reject(request); !reason.empty()) return Reject{reason};
  const Tensor& weights = *request.constant(1);
  const ConvGeometry g = conv_geometry(request.node, request.inputs[0].shape, weights.shape());
  if (!g.depthwise()) return Reject{"not depthwise"};
  if (g.window.kernel_elements() > kMostTaps) return Reject{"the window has more than 49 taps"};
  const bool x_halves = is_stored_half(request.inputs[0]),
             y_halves = is_stored_half(request.outputs[0]);
  const TapKernels kernels = kernels_for(isa_of(request.target), x_halves || y_halves);
  const TapsStep step{.function = kernels.function,
                      .rows_function = pairs_rows(g) ? kernels.rows_function : nullptr,
                      .geometry = g,
                      .ending = sum_end_of(request.node),
                      .copies = repeats(g),
                      .x_halves = x_halves,
                      .y_halves = y_halves};
  Candidate candidate;
  candidate.kernel = kernel_name("f32", "depthwise", isa_of(request.target));
  candidate.note = rounding_note(request.node);
  candidate.macs_per_cycle = real_unit_rate(isa_of(request.target));
  candidate.close = true;
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.inputs[0] = Layout::nhwc;
  candidate.outputs = {Layout::nhwc};
  candidate.holds = {false, true, request.has_input(2)};
  const Tensor bias = request.has_input(2) ? *request.constant(2) : Tensor();
  candidate.prepare = [weights, bias, copies = step.copies](const BindArgs&) {
    return std::vector<Preparation>{
        preparation<PackedTaps>(copies == 1 ? "taps" : "taps of pixels", {weights, bias},
                                [=] { return PackedTaps(weights, bias, copies); })};
  };
  candidate.bind = [step](const BindArgs& bind) -> RunStep {
    TapsStep bound = step;
    bound.packed = bind.prepared_as<PackedTaps>();
    return bound;
  };
  return candidate;
}

}  // namespace octet
