// SPDX-License-Identifier: Apache-2.0
// QMatMul: by constant weights as a 1x1 convolution over rows, by an activation as a batched product.
#include "backends/cpu/lower/q_matmul.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/conv/conv_cost.h"
#include "backends/cpu/kernels/codes/conv/tile_conv.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"
#include "ops/quantized/zero_points.h"

namespace octet {
namespace {

Placement dense_rows(s64 rows, s64 columns) {
  return {Layout::nhwc, columns, rows * columns, rows * columns, 0};
}

template <class Kernel>
RunStep step_of(Kernel kernel, const MatmulRequest& matmul) {
  struct Step {
    Kernel kernel;
    MatmulRequest matmul;
  };
  auto step = std::make_shared<const Step>(Step{std::move(kernel), matmul});
  return [step](const StepArgs& args) {
    const u8* r = step->matmul.constants.residual_of(args);
    if constexpr (!std::is_same_v<Kernel, BatchedMatmul>) {
      step->kernel.run({u8_input(args, 0), r, u8_output(args, 0), args.workspace, pool_of(args)});
    } else {
      step->kernel.run({u8_input(args, 0), step->matmul.b_of(args), r, u8_output(args, 0),
                        args.workspace, pool_of(args)});
    }
  };
}

// A product by a constant matrix, as a convolution.
struct LinearRequest {
  MatmulRequest matmul;
  ConvGeometry geometry;
  Tensor b;
};

std::string read(const LowerRequest& request, LinearRequest& linear) {
  if (std::string reason = read_matmul(request, linear.matmul); !reason.empty()) return reason;
  const Tensor* weights = request.constant(kProductWeights);
  if (weights == nullptr || weights->dtype() != Dtype::s8) return "b is not constant s8";
  if (has_permutation(request.node)) return "an operand or the result is turned";
  if (linear.matmul.epilogue.zero_point(kProductWeights) != 0)
    return "the weights' zero point is not 0";
  const s64 k = linear.matmul.views.geometry.k, n = linear.matmul.views.geometry.n;
  if (weights->elements() != k * n) return "b is a batch of matrices";
  linear.geometry = rows_as_pixels(request.inputs[kProductX].shape.elements() / k, k, n);
  linear.b = *weights;
  return {};
}

ConvSpec spec_of(const LinearRequest& linear) {
  const s64 rows = linear.geometry.window.w().out, columns = linear.geometry.out_channels;
  ConvSpec spec;
  spec.geometry = linear.geometry;
  spec.weights = {linear.b.as<s8>(), 1, columns};
  spec.bias = linear.matmul.constants.bias_values();
  spec.multiplier = linear.matmul.constants.multiplier.as<f32>();
  spec.input_zero_point = linear.matmul.epilogue.zero_point(kProductX);
  spec.epilogue = epilogue_args(linear.matmul.epilogue, linear.matmul.constants.table_or_null());
  spec.input = dense_rows(rows, linear.geometry.in_channels);
  spec.output = spec.residual = dense_rows(rows, columns);
  if (linear.matmul.constants.row) spec.residual = dense_rows(0, 0);  // all rows add the same
  return spec;
}

void set_overwrites(Candidate& candidate, const LinearRequest& linear) {
  const ProductConstants& constants = linear.matmul.constants;
  if (constants.has_residual() && keeps_apart(linear.geometry.out_channels))
    candidate.overwrites = {constants.residual};
}

template <class Kernel, class Row>
void set_kernel(Candidate& candidate, const Row& row, const LinearRequest& linear) {
  candidate.prepare = [&row, linear](const BindArgs&) {
    return packing<Kernel>(row, linear.matmul.constants.packed_with(linear.b),
                           [linear] { return spec_of(linear); });
  };
  candidate.bind = [&row, linear](const BindArgs& bind) {
    return step_of(Kernel(row, spec_of(linear), bind.prepared_as<typename Kernel::Packed>()),
                   linear.matmul);
  };
}

}  // namespace

std::string read_matmul(const LowerRequest& request, MatmulRequest& matmul) {
  matmul.views = matmul_views(request.node, request.inputs[kProductX].shape,
                              request.inputs[kProductWeights].shape);
  matmul.epilogue = epilogue_of(request.node);
  const MatMulGeometry& g = matmul.views.geometry;
  if (g.k == 0 || g.n == 0) return "the product is empty";
  return product_constants(request, matmul.constants);
}

std::string read_activations(const LowerRequest& request, MatmulRequest& matmul) {
  if (std::string reason = read_matmul(request, matmul); !reason.empty()) return reason;
  const Tensor* b = request.constant(kProductWeights);
  if (b == nullptr)
    return request.inputs[kProductWeights].dtype == Dtype::u8 ? "" : "b's codes are not u8";
  const s32 zero_point = matmul.epilogue.zero_point(kProductWeights);
  const bool matrix = b->elements() == matmul.views.geometry.k * matmul.views.geometry.n;
  if (b->dtype() == Dtype::s8 && matrix && zero_point == 0 && !has_permutation(request.node))
    return "b is constant weights";
  // Kernels of two activations read u8.
  matmul.b = *b;
  if (b->dtype() == Dtype::u8) return {};
  matmul.b = codes_as_u8(*b);
  matmul.epilogue.zero_points.resize(
      std::max(matmul.epilogue.zero_points.size(), size_t{kProductWeights} + 1));
  matmul.epilogue.zero_points[kProductWeights] = zero_point + kS8ToU8;
  return {};
}

MatmulSpec activations_spec(const MatmulRequest& matmul) {
  MatmulSpec spec;
  spec.views = matmul.views;
  spec.zero_a = matmul.epilogue.zero_point(kProductX);
  spec.zero_b = matmul.epilogue.zero_point(kProductWeights);
  spec.bias = matmul.constants.bias_values();
  spec.multiplier = matmul.constants.multiplier.as<f32>();
  spec.epilogue = epilogue_args(matmul.epilogue, matmul.constants.table_or_null());
  return spec;
}

Offer lower_q_linear_tiles(const LowerRequest& request) {
  LinearRequest linear;
  if (std::string reason = read(request, linear); !reason.empty()) return Reject{reason};
  if (const char* reason = tile_conv_reject(linear.geometry, isa_of(request.target)))
    return Reject{reason};
  const TileKernel& kernel = kTileKernels[0];
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  candidate.note = sum_note(request);
  candidate.workspace_bytes = tile_conv_workspace_bytes(linear.geometry, request.target.threads);
  const Placement rows = dense_rows(linear.geometry.window.w().out, linear.geometry.in_channels);
  if (!tile_conv_overlaps(linear.geometry, rows)) set_overwrites(candidate, linear);
  candidate.cost = tile_conv_cost(linear.geometry);
  candidate.macs_per_cycle = code_unit_rate(kernel.isa);
  set_kernel<TileConv>(candidate, kernel, linear);
  return candidate;
}

Offer lower_q_linear(const LowerRequest& request) {
  LinearRequest linear;
  if (std::string reason = read(request, linear); !reason.empty()) return Reject{reason};
  if (const char* reason = conv_depth_reject(linear.geometry)) return Reject{reason};
  const ConvKernel& kernel = best_kernel(kConstantConvKernels, isa_of(request.target));
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  candidate.note = sum_note(request);
  candidate.workspace_bytes = conv_workspace_bytes(kernel, linear.geometry, request.target.threads);
  set_overwrites(candidate, linear);
  candidate.cost = dense_conv_cost(kernel, linear.geometry);
  candidate.macs_per_cycle = conv_unit_rate(kernel);
  set_kernel<DenseConv>(candidate, kernel, linear);
  return candidate;
}

Offer lower_q_matmul(const LowerRequest& request) {
  MatmulRequest matmul;
  if (std::string reason = read_activations(request, matmul); !reason.empty())
    return Reject{reason};
  if (matmul.constants.row) return Reject{"the addend is a constant row"};
  if (const char* reason = matmul_reject(matmul.views)) return Reject{reason};
  const ConvKernel& kernel = best_kernel(kConvKernels, isa_of(request.target));
  BatchedMatmul product(kernel, activations_spec(matmul));
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  const std::string sum = sum_note(request);
  candidate.macs_per_cycle = conv_unit_rate(kernel);
  candidate.note = "b is packed at run time" + (sum.empty() ? sum : ", " + sum);
  candidate.workspace_bytes = product.workspace_bytes(request.target.threads);
  candidate.bind = [product, matmul](const BindArgs&) { return step_of(product, matmul); };
  return candidate;
}

}  // namespace octet
