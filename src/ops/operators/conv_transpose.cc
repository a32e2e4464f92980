// SPDX-License-Identifier: Apache-2.0
// ConvTranspose: every input element adds its weighted kernel to the output. Weights [C, O / group, kernel...].
#include <algorithm>
#include <vector>

#include "core/check.h"
#include "ops/attributes/window.h"
#include "ops/shared/axes.h"
#include "ops/shared/conv.h"
#include "ops/shared/float_io.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

constexpr s64 kMaxSize = s64{1} << 31;

// output_shape may state the spatial sizes or the whole shape.
std::vector<s64> stated_output(const ConvTransposeAttributes& attributes, size_t rank) {
  std::vector<s64> sizes = attributes.output_shape.value_or(std::vector<s64>{});
  if (sizes.size() == rank + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  if (!sizes.empty() && sizes.size() != rank) {
    fail(Error::Code::invalid_model, "attribute 'output_shape' has {} values, expected {}",
         sizes.size(), rank);
  }
  for (const s64 size : sizes) {
    if (size >= 1 && size <= kMaxSize) continue;
    fail(Error::Code::invalid_model, "attribute 'output_shape' holds {}, expected 1 to {}", size,
         kMaxSize);
  }
  return sizes;
}

// Fills axis.out and the padding that makes it so.
void resolve(AutoPad mode, WindowAxis& axis, s64 output_padding, s64 wanted) {
  const bool same = mode == AutoPad::same_upper || mode == AutoPad::same_lower;
  if (wanted < 0 && same) wanted = axis.in * axis.stride;
  const s64 full = axis.stride * (axis.in - 1) + output_padding + axis.extent();
  if (wanted >= 0) {
    const s64 total = std::max<s64>(full - wanted, 0);
    axis.pad_begin = mode == AutoPad::same_upper ? total / 2 : total - total / 2;
    axis.pad_end = total - axis.pad_begin;
    axis.out = wanted;
  } else {
    axis.out = full - axis.pad_begin - axis.pad_end;
  }
  if (axis.in < 1 || axis.out < 1 || axis.out > kMaxSize) {
    fail(Error::Code::invalid_model,
         "an input of {} with kernel {}, stride {} and pads {}, {} gives "
         "{} outputs",
         axis.in, axis.kernel, axis.stride, axis.pad_begin, axis.pad_end, axis.out);
  }
}

void check_shapes(const Shape& x, const Shape& weights, s64 groups) {
  if (x.rank() < 3 || x.rank() > 5 || weights.rank() != x.rank()) {
    fail(Error::Code::invalid_model,
         "weights {} and input {} do not fit; expected equal ranks of 3 to 5", to_string(weights),
         to_string(x));
  }
  if (groups < 1 || groups > kMaxSize || x[1] % groups != 0 || weights[0] != x[1]) {
    fail(Error::Code::invalid_model, "weights {} and group {} do not fit the input {}",
         to_string(weights), groups, to_string(x));
  }
  bool sane = weights[1] <= kMaxSize;
  for (int i = 2; i < x.rank(); ++i) {
    sane = sane && x[i] <= kMaxSize && weights[i] >= 1 && weights[i] <= kMaxSize;
  }
  if (sane) return;
  fail(Error::Code::invalid_model, "weights {} and input {} have an empty or oversized dimension",
       to_string(weights), to_string(x));
}

}  // namespace

ConvGeometry conv_transpose_geometry(const Node& node, const Shape& x, const Shape& weights) {
  const auto attributes = attributes_of<ConvTransposeAttributes>(node);
  const s64 groups = attributes.group;
  check_shapes(x, weights, groups);
  ConvGeometry geometry{.batch = x[0],
                        .groups = groups,
                        .in_channels = x[1],
                        .out_channels = weights[1] * groups,
                        .window = {}};
  const size_t rank = static_cast<size_t>(x.rank()) - 2;
  geometry.window.rank = x.rank() - 2;
  const auto strides = window_values("strides", attributes.strides, {rank, 1, 1});
  const auto dilations = window_values("dilations", attributes.dilations, {rank, 1, 1});
  const auto output_padding =
      window_values("output_padding", attributes.output_padding, {rank, 0, 0});
  const auto pads = attributes.auto_pad == AutoPad::notset
                        ? window_values("pads", attributes.pads, {2 * rank, 0, 0})
                        : std::vector<s64>(2 * rank, 0);
  const auto wanted = stated_output(attributes, rank);
  for (size_t i = 0; i < rank; ++i) {
    const int dim = static_cast<int>(i) + 2;
    WindowAxis& axis = geometry.window.axes[3 - rank + i];
    axis = {.in = x[dim],
            .out = 0,
            .kernel = weights[dim],
            .stride = strides[i],
            .dilation = dilations[i],
            .pad_begin = pads[i],
            .pad_end = pads[rank + i]};
    resolve(attributes.auto_pad, axis, output_padding[i], wanted.empty() ? -1 : wanted[i]);
  }
  return geometry;
}

namespace {

void infer(Inference& inference) {
  const ConvGeometry geometry =
      conv_transpose_geometry(inference.node, inference.inputs[0].shape, inference.inputs[1].shape);
  require_dtype(inference, 0, DtypeClass::real);
  require_same_dtypes(inference);
  if (inference.has_input(2) && inference.inputs[2].shape != Shape{geometry.out_channels}) {
    fail(Error::Code::invalid_model, "the bias is {}, expected one value for each of {} channels",
         to_string(inference.inputs[2]), geometry.out_channels);
  }
  inference.output(inference.inputs[0].dtype, geometry.output_shape());
}

// Input positions [first, last) of one axis whose tap k lands inside the output.
TapRange inputs_for_tap(const WindowAxis& axis, s64 k) {
  const s64 offset = k * axis.dilation - axis.pad_begin;
  const s64 first = offset >= 0 ? 0 : (-offset + axis.stride - 1) / axis.stride;
  const s64 last = offset >= axis.out ? 0 : (axis.out - offset + axis.stride - 1) / axis.stride;
  return {std::min(first, axis.in), std::min(last, axis.in)};
}

// y += weight * x for one tap of one kernel: a plane scaled and shifted into another.
void add_tap(const Window& window, const s64 (&tap)[3], f32 weight, const f32* x, f32* y) {
  const auto& [d, h, w] = window.axes;
  const TapRange zs = inputs_for_tap(d, tap[0]), ys = inputs_for_tap(h, tap[1]),
                 xs = inputs_for_tap(w, tap[2]);
  const auto target = [](const WindowAxis& axis, s64 i, s64 k) {
    return i * axis.stride + k * axis.dilation - axis.pad_begin;
  };
  for (s64 iz = zs.first; iz < zs.last; ++iz) {
    for (s64 iy = ys.first; iy < ys.last; ++iy) {
      const f32* src = x + (iz * h.in + iy) * w.in;
      f32* dst = y + (target(d, iz, tap[0]) * h.out + target(h, iy, tap[1])) * w.out;
      for (s64 ix = xs.first; ix < xs.last; ++ix) dst[target(w, ix, tap[2])] += weight * src[ix];
    }
  }
}

void add_plane(const Window& window, const f32* weights, const f32* x, f32* y) {
  const auto& [d, h, w] = window.axes;
  for (s64 kd = 0; kd < d.kernel; ++kd) {
    for (s64 kh = 0; kh < h.kernel; ++kh) {
      for (s64 kw = 0; kw < w.kernel; ++kw) add_tap(window, {kd, kh, kw}, *weights++, x, y);
    }
  }
}

void eval(const Eval& eval) {
  if (eval.outputs[0].shape.elements() == 0) return;
  const ConvGeometry g =
      conv_transpose_geometry(eval.node, eval.inputs[0].shape, eval.inputs[1].shape);
  const FloatInput x(eval, 0), weights(eval, 1), bias(eval, 2);
  const FloatOutput y(eval.outputs[0]);
  const s64 in = g.window.in_elements(), out = g.window.out_elements();
  const s64 taps = g.window.kernel_elements();
  for (s64 plane = 0; plane < g.batch * g.out_channels; ++plane) {
    const s64 image = plane / g.out_channels, channel = plane % g.out_channels;
    const s64 group = channel / g.out_channels_per_group();
    f32* dst = y.data() + plane * out;
    std::fill(dst, dst + out, bias ? bias[channel] : 0.0f);
    for (s64 i = 0; i < g.in_channels_per_group(); ++i) {
      const s64 source = group * g.in_channels_per_group() + i;
      const s64 kernel = source * g.out_channels_per_group() + channel % g.out_channels_per_group();
      add_plane(g.window, weights.data() + kernel * taps,
                x.data() + (image * g.in_channels + source) * in, dst);
    }
  }
  y.store();
}

constexpr OpTraits kTraits{.macs = transposed_convolution_macs};

}  // namespace

extern constinit const OpDef kConvTranspose{.name = "ConvTranspose",
                                            .inputs = {2, 3},
                                            .infer = infer,
                                            .eval = eval,
                                            .quant = {.kind = QuantKind::compute},
                                            .traits = &kTraits};
}  // namespace octet
