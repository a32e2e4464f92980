// SPDX-License-Identifier: Apache-2.0
// QMatMul: by constant weights as a 1x1 convolution over rows, by an activation as a batched product.
#include <algorithm>
#include <memory>
#include <utility>

#include "backends/cpu/kernels/matmul/matmul.h"
#include "backends/cpu/lower/q_common.h"

namespace octet {
namespace {

struct MatmulRequest {
  MatMulGeometry geometry;
  Epilogue epilogue;
  ProductConstants constants;
  bool residual = false;
};

std::string read(const LowerRequest& request, MatmulRequest& matmul) {
  matmul.geometry =
      matmul_geometry(request.inputs[kProductX].shape, request.inputs[kProductWeights].shape);
  matmul.epilogue = epilogue_of(request.node);
  matmul.residual = request.has_input(kProductResidual);
  if (matmul.geometry.k == 0 || matmul.geometry.n == 0) return "the product is empty";
  return product_constants(request, matmul.constants);
}

// Rows of a as pixels of one row.
ConvGeometry rows_as_pixels(s64 rows, s64 k, s64 n) {
  ConvGeometry geometry;
  geometry.in_channels = k;
  geometry.out_channels = n;
  geometry.window.axes[1] = {.in = 1, .out = 1};
  geometry.window.axes[2] = {.in = rows, .out = rows};
  return geometry;
}

Placement dense_rows(s64 rows, s64 columns) {
  return {Layout::nhwc, columns, rows * columns, rows * columns, 0};
}

template <class Kernel>
RunStep step_of(Kernel kernel, const MatmulRequest& matmul) {
  struct Step {
    Kernel kernel;
    Tensor table;
  };
  auto step = std::make_shared<const Step>(Step{std::move(kernel), matmul.constants.table});
  return [step, residual = matmul.residual](const StepArgs& args) {
    const u8* r = residual ? u8_input(args, kProductResidual) : nullptr;
    if constexpr (std::is_same_v<Kernel, DenseConv>) {
      step->kernel.run({u8_input(args, 0), r, u8_output(args, 0), args.workspace, args.pool});
    } else {
      step->kernel.run(
          {u8_input(args, 0), u8_input(args, 1), r, u8_output(args, 0), args.workspace, args.pool});
    }
  };
}

}  // namespace

Offer lower_q_linear(const LowerRequest& request) {
  MatmulRequest matmul;
  if (std::string reason = read(request, matmul); !reason.empty()) return Reject{reason};
  const Tensor* weights = request.constant(kProductWeights);
  if (weights == nullptr || weights->dtype() != Dtype::s8) return Reject{"b is not constant s8"};
  if (matmul.epilogue.zero_point(kProductWeights) != 0) {
    return Reject{"the weights' zero point is not 0"};
  }
  const s64 k = matmul.geometry.k, n = matmul.geometry.n;
  if (weights->elements() != k * n) return Reject{"b is a batch of matrices"};
  const s64 rows = request.inputs[kProductX].shape.elements() / k;
  const ConvGeometry geometry = rows_as_pixels(rows, k, n);
  const ConvKernel& kernel = best_conv_kernel(geometry, request.target.isa);
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  candidate.workspace_bytes = conv_workspace_bytes(kernel, geometry, request.target.threads);
  candidate.bind = [&kernel, geometry, matmul, rows, b = *weights](const BindArgs&) {
    const s64 columns = geometry.out_channels;
    ConvSpec spec;
    spec.geometry = geometry;
    spec.weights = {b.as<s8>(), 1, columns};
    spec.bias = matmul.constants.bias_values();
    spec.multiplier = matmul.constants.multiplier.as<f32>();
    spec.input_zero_point = matmul.epilogue.zero_point(kProductX);
    spec.epilogue = epilogue_args(matmul.epilogue, matmul.constants.table_or_null());
    spec.input = dense_rows(rows, geometry.in_channels);
    spec.output = spec.residual = dense_rows(rows, columns);
    return step_of(DenseConv(kernel, spec), matmul);
  };
  return candidate;
}

Offer lower_q_matmul(const LowerRequest& request) {
  MatmulRequest matmul;
  if (std::string reason = read(request, matmul); !reason.empty()) return Reject{reason};
  if (request.constant(kProductWeights) != nullptr) return Reject{"b is a constant"};
  if (request.inputs[kProductWeights].dtype != Dtype::u8) return Reject{"b's codes are not u8"};
  if (const char* reason = matmul_reject(matmul.geometry)) return Reject{reason};
  // b is packed in the order of the vpdpbusd kernel.
  const ConvKernel& kernel = best_kernel(kConvKernels, std::min(request.target.isa, Isa::vnni));
  MatmulSpec spec;
  spec.geometry = matmul.geometry;
  spec.zero_a = matmul.epilogue.zero_point(0);
  spec.zero_b = matmul.epilogue.zero_point(1);
  spec.bias = matmul.constants.bias_values();
  spec.multiplier = matmul.constants.multiplier.as<f32>();
  spec.epilogue = epilogue_args(matmul.epilogue, matmul.constants.table_or_null());
  BatchedMatmul product(kernel, spec);
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  candidate.note = "b is packed at run time";
  candidate.workspace_bytes = product.workspace_bytes(request.target.threads);
  candidate.bind = [product, matmul](const BindArgs&) { return step_of(product, matmul); };
  return candidate;
}

}  // namespace octet
