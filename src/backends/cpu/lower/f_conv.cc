// SPDX-License-Identifier: Apache-2.0
// f32 convolution through oneDNN: nhwc for images (plain for 1-D and 3-D), weights reordered once into the format that
// the primitive prefers, bias, residual and activation fused. Threads share out images, or the rows of one image.
#include <algorithm>

#include "backends/cpu/lower/dnnl_api.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_dnnl.h"
#include "core/check.h"
#include "ops/shared/conv.h"

namespace octet {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using ConvDesc = dnnl::convolution_forward::primitive_desc;

constexpr auto kF32 = memory::data_type::f32;

enum : size_t { kX, kWeights, kBias, kResidual };

// Images [image, image + images) and output rows [row, row + rows) of each.
struct Part {
  s64 image, images, row, rows;
};

struct Conv {
  ConvGeometry geometry;
  Activation activation;
  bool bias = false;
  bool residual = false;
  memory::data_type type = kF32;  // of input and weights

  const WindowAxis& h() const { return geometry.window.h(); }
  const WindowAxis& w() const { return geometry.window.w(); }
  bool image() const { return geometry.window.rank == 2; }
};

s64 macs(const Conv& conv) {
  const ConvGeometry& g = conv.geometry;
  return g.batch * g.out_channels * g.in_channels_per_group() * g.window.kernel_elements() *
         g.window.out_elements();
}

std::vector<Part> parts_of(const Conv& conv, int threads) {
  const s64 batch = conv.geometry.batch, rows = conv.h().out;
  const bool split = threads > 1 && macs(conv) > kSerialMacs;
  const s64 count = split ? std::min<s64>(threads, batch > 1 || !conv.image() ? batch : rows) : 1;
  std::vector<Part> parts;
  for (s64 i = 0; i < count; ++i) {
    if (batch > 1 || count == 1) {
      const s64 begin = part_begin(batch, count, i);
      parts.push_back({begin, part_begin(batch, count, i + 1) - begin, 0, rows});
    } else {
      const s64 begin = part_begin(rows, count, i);
      parts.push_back({0, 1, begin, part_begin(rows, count, i + 1) - begin});
    }
  }
  return parts;
}

// The input rows under a part's output rows, and the padding that remains above and below them.
struct RowRange {
  s64 begin, rows, pad_top, pad_bottom;
};

RowRange input_rows(const WindowAxis& h, const Part& part) {
  if (part.rows == h.out) return {0, h.in, h.pad_begin, h.pad_end};
  const s64 first = part.row * h.stride - h.pad_begin;
  const s64 last = (part.row + part.rows - 1) * h.stride - h.pad_begin + h.extent();
  const s64 begin = std::clamp<s64>(first, 0, h.in), end = std::clamp<s64>(last, begin, h.in);
  return {begin, end - begin, begin - first, last - end};
}

// The axes that the tensor has, right-aligned in the window.
template <class F>
Dims spatial(const Conv& conv, const F& value) {
  Dims dims;
  for (int i = 3 - conv.geometry.window.rank; i < 3; ++i) {
    dims.push_back(value(conv.geometry.window.axes[static_cast<size_t>(i)]));
  }
  return dims;
}

Dims with_spatial(Dims front, const Dims& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

Dims weight_dims(const Conv& conv) {
  const ConvGeometry& g = conv.geometry;
  Dims dims;
  if (g.groups > 1) dims.push_back(g.groups);
  dims.push_back(g.out_channels_per_group());
  dims.push_back(g.in_channels_per_group());
  return with_spatial(dims, spatial(conv, [](const WindowAxis& a) { return a.kernel; }));
}

memory::desc plain(const Dims& dims, memory::data_type type = kF32) {
  Dims strides(dims.size());
  s64 stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return {dims, type, strides};
}

memory::desc data_desc(const Conv& conv, const Dims& dims, memory::data_type type) {
  return conv.image() ? memory::desc(dims, type, memory::format_tag::nhwc) : plain(dims, type);
}

ConvDesc describe(const Conv& conv, const Part& part, const memory::desc& weights) {
  const ConvGeometry& g = conv.geometry;
  Dims in = with_spatial({part.images, g.in_channels},
                         spatial(conv, [](const WindowAxis& a) { return a.in; }));
  Dims out = with_spatial({part.images, g.out_channels},
                          spatial(conv, [](const WindowAxis& a) { return a.out; }));
  Dims pad_begin = spatial(conv, [](const WindowAxis& a) { return a.pad_begin; });
  Dims pad_end = spatial(conv, [](const WindowAxis& a) { return a.pad_end; });
  if (conv.image()) {
    const RowRange rows = input_rows(conv.h(), part);
    in[2] = rows.rows;
    out[2] = part.rows;
    pad_begin[0] = rows.pad_top;
    pad_end[0] = rows.pad_bottom;
  }
  const memory::desc bias = conv.bias ? plain({g.out_channels}) : memory::desc();
  const SingleThread guard;
  return dnnl_convolution(
      {data_desc(conv, in, conv.type), weights, bias, data_desc(conv, out, kF32)},
      {spatial(conv, [](const WindowAxis& a) { return a.stride; }),
       spatial(conv, [](const WindowAxis& a) { return a.dilation - 1; }), pad_begin, pad_end},
      product_attributes(conv.activation, conv.residual), dnnl_engine());
}

DnnlSlice::Place place_of(const Conv& conv, const Part& part) {
  const ConvGeometry& g = conv.geometry;
  const Window& window = g.window;
  const s64 out_row = conv.image() ? conv.w().out * g.out_channels : 0;
  const s64 in_row = conv.image() ? conv.w().in * g.in_channels : 0;
  const s64 out_image = window.out_elements() * g.out_channels;
  const bool whole = part.rows == conv.h().out;
  const s64 src_row = conv.image() ? input_rows(conv.h(), part).begin : 0;
  return {.src = part.image * window.in_elements() * g.in_channels + src_row * in_row,
          .weights = 0,
          .dst = part.image * out_image + (whole ? 0 : part.row * out_row),
          .dst_elements = part.images * (whole ? out_image : part.rows * out_row),
          .src_bytes = conv.type == kF32 ? s64{sizeof(f32)} : s64{sizeof(bf16)}};
}

// Every slice reads the same packed weights, in the format that part `picks` prefers. Throws dnnl::error.
std::vector<ProductSlice> slices_of(const Conv& conv, const std::vector<Part>& parts,
                                    size_t picks) {
  const memory::desc any(weight_dims(conv), conv.type, memory::format_tag::any);
  const memory::desc weights = ConvDesc(describe(conv, parts[picks], any)).weights_desc();
  std::vector<ProductSlice> slices;
  for (const Part& part : parts) {
    slices.push_back({describe(conv, part, weights), place_of(conv, part)});
  }
  return slices;
}

// oneDNN's scalar code, which it takes where no other implementation reads the weights' format.
bool is_scalar(const ProductSlice& slice) {
  const std::string name = slice.desc.impl_info_str();
  return name.starts_with("ref") || name.starts_with("gemm:ref");
}

// Parts of different heights may prefer different formats: another part picks, or nothing is split.
std::vector<ProductSlice> offer_slices(const Conv& conv, int threads) {
  const std::vector<Part> parts = parts_of(conv, threads);
  for (size_t picks = 0; parts.size() > 1 && picks < parts.size(); ++picks) {
    try {
      std::vector<ProductSlice> slices = slices_of(conv, parts, picks);
      if (std::ranges::none_of(slices, is_scalar)) return slices;
    } catch (const dnnl::error&) {
      // No implementation of another part reads this format.
    }
  }
  return slices_of(conv, parts_of(conv, 1), 0);
}

std::string reject(const LowerRequest& request) {
  if (std::string reason = dnnl_reject(request); !reason.empty()) return reason;
  if (request.constant(kWeights) == nullptr) return "the weights are not constant";
  if (request.has_input(kBias) && request.constant(kBias) == nullptr)
    return "the bias is not constant";
  if (request.constant(kResidual) != nullptr) return "the residual is constant";
  if (request.outputs[0].shape.elements() == 0) return "the output is empty";
  return span_reject(
      conv_geometry(request.node, request.inputs[kX].shape, request.inputs[kWeights].shape).window);
}

}  // namespace

namespace {

Offer offer(const LowerRequest& request, memory::data_type type) {
  Conv conv{conv_geometry(request.node, request.inputs[kX].shape, request.inputs[kWeights].shape),
            activation_of(request.node), request.has_input(kBias), request.has_input(kResidual),
            type};
  const Tensor* bias = request.constant(kBias);
  const bool narrow = type != kF32;
  const ProductStep step{.kernel = narrow ? "dnnl_conv_bf16" : "dnnl_conv_f32",
                         .slices = offer_slices(conv, request.target.threads),
                         .weights = *request.constant(kWeights),
                         .weights_given = plain(weight_dims(conv)),
                         .bias = bias ? *bias : Tensor(),
                         .residual_input = conv.residual ? size_t{kResidual} : size_t{0},
                         .narrow = {narrow ? request.inputs[kX].shape.elements() : 0, 0}};
  Candidate candidate = product_candidate(request, step);
  if (!conv.image()) return candidate;
  candidate.inputs[kX] = Layout::nhwc;
  if (conv.residual) candidate.inputs[kResidual] = Layout::nhwc;
  candidate.outputs = {Layout::nhwc};
  return candidate;
}

}  // namespace

Offer lower_f_conv(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  return product_offer(request, [&](memory::data_type type) { return offer(request, type); });
}

}  // namespace octet
