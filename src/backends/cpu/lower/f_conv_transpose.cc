// SPDX-License-Identifier: Apache-2.0
// f32 transposed convolution through oneDNN, where lower_f_conv_transpose_panels takes none; threads share out the images of a batch.
#include <algorithm>

#include "backends/cpu/lower/dnnl_api.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_dnnl.h"
#include "ops/attributes/window.h"
#include "ops/shared/conv.h"

namespace octet {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using DeconvDesc = dnnl::deconvolution_forward::primitive_desc;

constexpr auto kF32 = memory::data_type::f32;

enum : size_t { kX, kWeights, kBias };

struct Deconv {
  Shape x, y, weights;
  s64 groups = 1;
  bool bias = false;
  Dims strides, dilations, pad_begin, pad_end;

  size_t axes() const { return static_cast<size_t>(x.rank()) - 2; }
  bool image() const { return x.rank() == 4; }
};

void read_window(const Node& node, Deconv& d) {
  const Window window = conv_transpose_geometry(node, d.x, d.weights).window;
  for (size_t i = 3 - d.axes(); i < 3; ++i) {
    const WindowAxis& axis = window.axes[i];
    d.strides.push_back(axis.stride);
    d.dilations.push_back(axis.dilation - 1);
    d.pad_begin.push_back(axis.pad_begin);
    // Less than nothing where the output reaches beyond the last tap.
    d.pad_end.push_back(axis.stride * (axis.in - 1) + axis.extent() - axis.pad_begin - axis.out);
  }
}

// The groups, output and input channels of each, and the window; strides as ONNX has them: [C, O / group, kernel...].
memory::desc given_weights(const Deconv& d) {
  const s64 out = d.weights[1], in = d.x[1] / d.groups;
  s64 window = 1;
  Dims spatial, spatial_strides;
  for (int i = 2; i < d.weights.rank(); ++i) spatial.push_back(d.weights[i]);
  for (size_t i = spatial.size(); i-- > 0; window *= spatial[i]) {
    spatial_strides.insert(spatial_strides.begin(), window);
  }
  Dims dims{d.groups, out, in}, strides{in * out * window, window, out * window};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  strides.insert(strides.end(), spatial_strides.begin(), spatial_strides.end());
  if (d.groups == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  return {dims, kF32, strides};
}

memory::desc data_desc(const Deconv& d, const Shape& shape, s64 images) {
  Dims dims(shape.begin(), shape.end());
  dims[0] = images;
  using tag = memory::format_tag;
  const tag plain = shape.rank() == 3 ? tag::abc : tag::abcde;
  return {dims, kF32, d.image() ? tag::nhwc : plain};
}

DeconvDesc describe(const Deconv& d, s64 images, const memory::desc& weights) {
  const memory::desc bias =
      d.bias ? memory::desc(Dims{d.y[1]}, kF32, memory::format_tag::a) : memory::desc();
  const SingleThread guard;
  return dnnl_deconvolution({data_desc(d, d.x, images), weights, bias, data_desc(d, d.y, images)},
                            {d.strides, d.dilations, d.pad_begin, d.pad_end},
                            product_attributes({}, false), dnnl_engine());
}

std::vector<ProductSlice> slices_of(const Deconv& d, int threads) {
  const s64 batch = d.x[0], count = std::min<s64>(threads, batch);
  memory::desc weights(dims_of(given_weights(d)), kF32, memory::format_tag::any);
  std::vector<ProductSlice> slices;
  for (s64 i = 0; i < count; ++i) {
    const s64 begin = part_begin(batch, count, i), images = part_begin(batch, count, i + 1) - begin;
    slices.push_back(
        {describe(d, images, weights),
         {.src = begin * (d.x.elements() / batch), .dst = begin * (d.y.elements() / batch)}});
    weights = slices.front().weights();
  }
  return slices;
}

std::string reject(const LowerRequest& request) {
  if (std::string reason = dnnl_reject(request); !reason.empty()) return reason;
  if (request.constant(kWeights) == nullptr) return "the weights are not constant";
  if (request.has_input(kBias) && request.constant(kBias) == nullptr)
    return "the bias is not constant";
  if (request.outputs[0].shape.elements() == 0) return "the output is empty";
  return span_reject(conv_transpose_geometry(request.node, request.inputs[kX].shape,
                                             request.inputs[kWeights].shape)
                         .window);
}

}  // namespace

Offer lower_f_conv_transpose(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  Deconv d{.x = request.inputs[kX].shape,
           .y = request.outputs[0].shape,
           .weights = request.inputs[kWeights].shape,
           .groups = conv_groups(request.node),
           .bias = request.has_input(kBias),
           .strides = {},
           .dilations = {},
           .pad_begin = {},
           .pad_end = {}};
  read_window(request.node, d);
  const Tensor* bias = request.constant(kBias);
  return primitive_offer([&] {
    const ProductStep step{.kernel = "dnnl_conv_transpose_f32",
                           .slices = slices_of(d, request.target.threads),
                           .weights = *request.constant(kWeights),
                           .weights_given = given_weights(d),
                           .bias = bias ? *bias : Tensor()};
    Candidate candidate = product_candidate(request, step);
    if (!d.image()) return candidate;
    candidate.inputs[kX] = Layout::nhwc;
    candidate.outputs = {Layout::nhwc};
    return candidate;
  });
}

}  // namespace octet
