// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and MatMul of reals.
#include <algorithm>

#include "backends/cuda/families/product_f32/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/window.h"
#include "core/divide.h"
#include "ops/shared/activation.h"
#include "ops/shared/conv.h"
#include "ops/shared/matmul.h"

namespace octet::cuda {
namespace {

using product_f32::BatchAxis;
using product_f32::Spec;

enum : size_t { kX, kWeights, kBias, kResidual };

struct ProductF32 {
  ConvGeometry geometry = {};
  bool transposed = false, direct = false;
  bool rows = false;  // of MatMul: linear, an axis of pixels alone
  Activation activation = {};
  bool has_bias = false, has_residual = false;
  Tensor weights = {}, bias = {};  // empty where a run brings them
  Shape x = {}, y = {};
  std::vector<BatchAxis> batches = {};

  s64 pixels() const { return geometry.batch * geometry.window.out_elements(); }
  s64 cin() const { return geometry.in_channels_per_group(); }
  s64 cout() const { return geometry.out_channels_per_group(); }
  s64 taps() const { return geometry.window.kernel_elements(); }
  s32 rows_each() const { return pixels() >= 4096 ? 8 : 4; }
};

std::string read(const LowerRequest& request, ProductF32& product) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.has_input(i) && request.inputs[i].dtype != Dtype::f32)
      return "an operand is not f32";
  }
  if (request.constant(kX) != nullptr) return "the left side is constant";
  if (request.constant(kResidual) != nullptr) return "the residual is constant";
  if (request.outputs[0].shape.elements() == 0 || request.inputs[kX].shape.elements() == 0)
    return "there is nothing to compute";
  product.x = request.inputs[kX].shape;
  product.y = request.outputs[0].shape;
  product.activation = activation_of(request.node);
  product.has_bias = request.has_input(kBias);
  product.has_residual = request.has_input(kResidual);
  if (const Tensor* weights = request.constant(kWeights)) product.weights = *weights;
  if (const Tensor* bias = request.constant(kBias)) product.bias = *bias;
  return {};
}

PlaceStrides place_of(const ProductF32& product, const Shape& shape, const Placement& placement) {
  if (product.rows) return {.n = 0, .c = 1, .d = 0, .h = 0, .w = shape[shape.rank() - 1]};
  return place_strides(shape, placement);
}

Spec spec_of(const ProductF32& product, const BindArgs& bind) {
  const Activation& activation = product.activation;
  const PlaceStrides x = place_of(product, product.x, bind.inputs[kX]);
  Spec spec{.window = spatial_window(product.geometry.window, product.transposed),
            .x = x,
            .y = place_of(product, product.y, bind.outputs[0]),
            .residual_at = {},
            .batches = {},
            .pixels = field_of(product.pixels()),
            .cin = field_of(product.cin()),
            .cout = field_of(product.cout()),
            .groups = field_of(product.geometry.groups),
            .direct = product.direct,
            .along_k = x.c == 1,
            .rows_each = product.rows_each(),
            .bias = product.has_bias,
            .residual = product.has_residual,
            .leaky = activation.kind == Activation::Kind::leaky_relu,
            .alpha = bits_of(activation.alpha),
            .clamp = activation.is_clamp(),
            .clamp_lo = bits_of(activation.min),
            .clamp_hi = bits_of(activation.max)};
  if (product.has_residual) spec.residual_at = place_of(product, product.y, bind.inputs[kResidual]);
  for (size_t i = product.batches.size(); i-- > 0;) append(spec.batches, product.batches[i]);
  return spec;
}

Launch make_launch(const CudaDevice& device, const ProductF32& product, const BindArgs& bind) {
  const Spec spec = spec_of(product, bind);
  LaunchShape shape{
      .blocks = blocks(spec), .threads = product_f32::kThreads, .programmatic_dependent = true};
  if (product.direct) {
    shape =
        blocks_for(device, product.pixels() * product.geometry.out_channels, product_f32::kThreads);
  }
  return {.source = source_of("product_f32", spec), .shape = shape};
}

// As the kernel reads them, from [O, C / group, taps] or, transposed, [C, O / group, taps].
std::vector<std::byte> packed(const ProductF32& product) {
  const s64 groups = product.geometry.groups, cin = product.cin(), cout = product.cout();
  const s64 taps = product.taps(), depth = taps * cin;
  const std::span<const f32> from = product.weights.as<f32>();
  std::vector<f32> to(from.size());
  size_t next = 0;
  const s64 outer = product.direct ? depth : groups, inner = product.direct ? groups : depth;
  for (s64 i = 0; i < outer * inner; ++i) {
    const s64 group = product.direct ? i % inner : i / inner;
    const s64 k = product.direct ? i / inner : i % inner;
    const s64 c = product.direct ? k / taps : k % cin, tap = product.direct ? k % taps : k / cin;
    for (s64 o = 0; o < cout; ++o) {
      const s64 at = product.transposed ? ((group * cin + c) * cout + o) * taps + tap
                                        : ((group * cout + o) * cin + c) * taps + tap;
      to[next++] = from[static_cast<size_t>(at)];
    }
  }
  return bytes_of(std::span<const f32>(to));
}

std::vector<BlobRecipe> blobs(const ProductF32& product) {
  std::vector<BlobRecipe> all;
  if (product.weights && product.rows) {
    all.push_back(constant_blob(product.weights));
  } else if (product.weights) {
    all.push_back({fmt::format("product_f32 {} {} {}", product.geometry.groups, product.transposed,
                               product.direct),
                   {product.weights},
                   [product] { return packed(product); }});
  }
  if (product.bias) all.push_back(constant_blob(product.bias));
  return all;
}

product_f32::Params parameters(const ProductF32& product, const StepData& data) {
  const auto input = [&](size_t i) { return reinterpret_cast<const f32*>(data.input(i)); };
  size_t blob = 0;
  product_f32::Params p{};
  p.x = input(kX);
  p.weights = product.weights ? data.blob<f32>(blob++) : input(kWeights);
  if (product.has_bias) p.bias = product.bias ? data.blob<f32>(blob++) : input(kBias);
  if (product.has_residual) p.residual = input(kResidual);
  p.y = reinterpret_cast<f32*>(data.output());
  return p;
}

// In cycles, of a convolution whose threads have a number of y each: chains that compute it in 16 bits are weighed against it and its casts.
f64 direct_cost(const LowerRequest& request, const ProductF32& product, const Chip& chip) {
  const f64 outputs = static_cast<f64>(product.pixels() * product.geometry.out_channels);
  const f64 products = outputs * static_cast<f64>(product.cin() * product.taps());
  const f64 rate = chip.costs().product_f32_direct_rate * chip.multiprocessors;
  return std::max(cost_by_bytes(request), chip.costs().kernel_start + products / rate);
}

// The same of a product of two values that a run brings.
f64 cost_of(const LowerRequest& request, const ProductF32& product, const Chip& chip) {
  const Costs& costs = chip.costs();
  TileWork work{.at_once = 2};
  const s64 rows = 16 * product.rows_each(), columns = product_f32::kBn;
  work.tiles = ceil_div(product.pixels(), rows) * ceil_div(product.cout(), columns);
  for (const BatchAxis& axis : product.batches) work.tiles *= axis.size;
  const f64 depth = static_cast<f64>(product.cin());
  work.multiply_cycles =
      static_cast<f64>(rows * columns) * depth / costs.rate_multiply_f32 + costs.tile_begin;
  work.load_bytes = static_cast<f64>(rows + columns) * depth * sizeof(f32);
  return tile_cost(work, moved_bytes(request), chip);
}

Offer offer(const LowerRequest& request, const ProductF32& product, const std::string& kernel) {
  constexpr s64 kMost = s64{1} << 31;
  if (product.pixels() >= kMost / 2) return Reject{"there are too many pixels"};
  if (product.geometry.out_channels >= kMost || product.cin() * product.taps() >= kMost)
    return Reject{"there are too many channels"};
  const bool image = !product.rows && product.x.rank() == 4;
  Candidate candidate = candidate_of(request, kernel, image ? Layout::nhwc : Layout::linear);
  candidate.inputs[kWeights] = Layout::linear;
  candidate.strided = image;
  candidate.by_image = !product.rows;
  candidate.close = !product.direct;
  const CudaDevice& device = device_of(request);
  if (product.rows && !product.weights) candidate.cost = cost_of(request, product, device.chip());
  // Of a single channel families/depthwise_real is asked before, and stays the choice.
  if (product.direct && product.cin() > 1)
    candidate.cost = direct_cost(request, product, device.chip());
  candidate.macs_per_cycle =
      device.chip().costs().rate_multiply_f32 * device.chip().multiprocessors;
  set_step(candidate, device,
           {.make_launch = [&device, product](
                               const BindArgs& bind) { return make_launch(device, product, bind); },
            .recipes = [product](const BindArgs&) { return blobs(product); }},
           [product](const StepData& data) { return parameters(product, data); });
  return candidate;
}

Offer convolution(const LowerRequest& request, ProductF32& product, const char* name) {
  if (!product.weights) return Reject{"the weights are not constant"};
  constexpr s64 kFew = 4;  // channels of a group
  product.direct = product.cout() <= kFew;
  return offer(request, product,
               fmt::format("{}{}_f32", name, product.direct ? "_direct" : "_tiles"));
}

bool all_zero(const std::vector<s64>& strides) {
  return std::ranges::all_of(strides, [](s64 stride) { return stride == 0; });
}

// The batches that share b are rows of one product where a lies dense.
void set_batches(ProductF32& product, const MatMulGeometry& g) {
  s64 rows = g.m;
  if (all_zero(g.b_strides) && product.x.elements() == g.batches() * g.m * g.k) {
    rows *= g.batches();
  } else {
    s64 y = g.m * g.n * g.batches();
    for (int d = 0; d < g.batch.rank(); ++d) {
      const auto i = static_cast<size_t>(d);
      y /= g.batch[d];
      product.batches.push_back(
          {g.batch[d], g.a_strides[i] * g.m * g.k, g.b_strides[i] * g.k * g.n, y});
    }
  }
  product.geometry.in_channels = g.k;
  product.geometry.out_channels = g.n;
  product.geometry.window.axes[2] = {.in = rows, .out = rows};
}

}  // namespace

Offer lower_conv_f32(const LowerRequest& request) {
  ProductF32 product;
  if (std::string reason = read(request, product); !reason.empty()) return Reject{reason};
  product.geometry = conv_geometry(request.node, product.x, request.inputs[kWeights].shape);
  return convolution(request, product, "conv");
}

Offer lower_conv_transpose_f32(const LowerRequest& request) {
  ProductF32 product{.transposed = true};
  if (std::string reason = read(request, product); !reason.empty()) return Reject{reason};
  product.geometry =
      conv_transpose_geometry(request.node, product.x, request.inputs[kWeights].shape);
  return convolution(request, product, "conv_transpose");
}

Offer lower_matmul_f32(const LowerRequest& request) {
  ProductF32 product{.rows = true};
  if (std::string reason = read(request, product); !reason.empty()) return Reject{reason};
  const MatMulGeometry g = matmul_geometry(product.x, request.inputs[kWeights].shape);
  if (g.k == 0) return Reject{"there is nothing to compute"};
  set_batches(product, g);
  // Vectors are matrices of one row or column.
  product.x = Shape{g.m, g.k};
  product.y = Shape{g.m, g.n};
  return offer(request, product, "matmul_tiles_f32");
}

}  // namespace octet::cuda
