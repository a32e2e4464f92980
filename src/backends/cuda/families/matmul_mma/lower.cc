// SPDX-License-Identifier: Apache-2.0
// QMatMul of two activations.
#include <algorithm>
#include <limits>

#include "backends/cuda/families/matmul_mma/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/product.h"
#include "core/divide.h"
#include "ops/shared/matmul_views.h"

namespace octet::cuda {
namespace {

constexpr s32 kStep = 64;  // of k, in a stage

using matmul_mma::Spec;

struct MatmulRequest {
  Product product;
  MatMulViews views;
  bool b_s8 = false;
};

std::string reject_large(const MatMulGeometry& g) {
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  return std::max({g.m, g.n, g.k}) > kMost ? "a matrix has 2^31 rows or columns" : "";
}

std::string read(const LowerRequest& request, MatmulRequest& matmul) {
  const auto code = [&](size_t i) {
    const Dtype dtype = request.inputs[i].dtype;
    return dtype == Dtype::u8 || dtype == Dtype::s8;
  };
  if (!code(kProductX) || !code(kProductWeights)) return "an operand is not u8 or s8";
  if (request.constant(kProductWeights) != nullptr) return "b is a constant";
  matmul.views = matmul_views(request.node, request.inputs[kProductX].shape,
                              request.inputs[kProductWeights].shape);
  matmul.b_s8 = request.inputs[kProductWeights].dtype == Dtype::s8;
  if (matmul.views.geometry.k == 0 || matmul.views.output.elements() == 0)
    return "there is nothing to compute";
  if (std::string reason = reject_large(matmul.views.geometry); !reason.empty()) return reason;
  return read_product(request, matmul.product);
}

// Bytes that a load takes along an operand's dense axis: 16, 8, 4 or 1.
s64 load_width(s64 offset, s64 dense, s64 other, const std::vector<s64>& batch) {
  s64 width = common_power(16, {offset, dense, other});
  for (s64 stride : batch) width = common_power(width, {stride});
  return width >= 4 ? width : 1;
}

s64 load_width(const MatmulRequest& matmul, const BindArgs& bind, size_t operand) {
  const MatMulViews& v = matmul.views;
  const MatMulGeometry& g = v.geometry;
  const s64 offset = bind.input_offset(operand);
  if (operand == kProductX) {
    return v.a_k == 1 ? load_width(offset, g.k, v.a_row, v.a_batch)
                      : load_width(offset, g.m, v.a_k, v.a_batch);
  }
  return v.b_k == 1 ? load_width(offset, g.k, v.b_n, v.b_batch)
                    : load_width(offset, g.n, v.b_k, v.b_batch);
}

// Codes that a thread stores at once.
s64 store_width(const MatmulRequest& matmul, const Spec& spec, const BindArgs& bind) {
  const MatMulViews& v = matmul.views;
  if (v.y_n != 1) return 1;
  const s64 bytes = matmul.product.element_bytes();
  s64 width =
      common_power(matmul.product.real() ? 4 : 16,
                   {s64{2} * spec.tiles_n, v.geometry.n, v.y_row, bind.output_offset(0) / bytes});
  for (s64 stride : v.y_batch) width = common_power(width, {stride});
  for (size_t i : {kProductResidual, kProductAddend}) {
    const bool read =
        i == kProductResidual ? matmul.product.has_residual : matmul.product.has_addend;
    if (read && i < bind.inputs.size()) width = common_power(width, {bind.input_offset(i)});
  }
  return width;
}

// What does not depend on where values lie.
Spec spec_of(const MatmulRequest& matmul) {
  const MatMulViews& v = matmul.views;
  const MatMulGeometry& g = v.geometry;
  const Product& product = matmul.product;
  Spec spec{.m = field_of(g.m),
            .n = field_of(g.n),
            .k = field_of(g.k),
            .batches = {},
            .a_signed = product.x_s8,
            .b_signed = matmul.b_s8,
            .a_zero_point = product.epilogue.zero_point(kProductX),
            .b_zero_point = product.epilogue.zero_point(kProductWeights),
            .a_row = v.a_row,
            .a_k = v.a_k,
            .b_n = v.b_n,
            .b_k = v.b_k,
            .y_row = v.y_row,
            .y_n = v.y_n,
            .a_access = 1,
            .b_access = 1,
            .y_access = 1,
            .uniform = !product.bias && product.multiplier.shape().elements() == 1,
            .addend_row = !!product.addend_row,
            .end = epilogue_spec(product),
            .warps_m = g.m > 32   ? 4
                       : g.m > 16 ? 2
                                  : 1,
            .warps_n = 1,
            // A short k leaves little to do but storing: small tiles, more of them at once.
            .tiles_m = g.m > 64 && g.k > 2 * kStep ? 2 : 1,
            .tiles_n = g.n <= 16   ? 2
                       : g.n <= 32 ? 4
                                   : 8,
            .bk = kStep,
            .stages = field_of(std::clamp<s64>(ceil_div(g.k, s64{kStep}) + 1, 2, 4))};
  for (int d = g.batch.rank(); d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    append(spec.batches, {g.batch[d], v.a_batch[i], v.b_batch[i], v.y_batch[i]});
  }
  return spec;
}

Launch make_launch(const MatmulRequest& matmul, Spec spec, const BindArgs& bind) {
  spec.a_access = field_of(load_width(matmul, bind, kProductX));
  spec.b_access = field_of(load_width(matmul, bind, kProductWeights));
  spec.y_access = field_of(store_width(matmul, spec, bind));
  return {.source = source_of("matmul_mma", spec),
          .shape = {.blocks = blocks(spec),
                    .threads = threads(spec),
                    .shared_bytes = shared_bytes(spec),
                    .programmatic_dependent = true}};
}

// In cycles. Operands are read once: neighbouring tiles find them in the second-level cache.
f64 matmul_cost(const LowerRequest& request, const Spec& spec, const Chip& chip) {
  const f64 tiles = static_cast<f64>(blocks(spec) * bm(spec) * bn(spec));
  return bytes_cost(moved_bytes(request), chip) +
         tiles * static_cast<f64>(spec.k) / (chip.costs().rate_mma_s8 * chip.multiprocessors);
}

}  // namespace

Offer lower_matmul_mma(const LowerRequest& request) {
  MatmulRequest matmul;
  if (std::string reason = read(request, matmul); !reason.empty()) return Reject{reason};
  const Spec spec = spec_of(matmul);
  Candidate candidate =
      candidate_of(request, fmt::format("matmul_mma_{}x{}", bm(spec), bn(spec)), Layout::linear);
  const Chip& chip = device_of(request).chip();
  candidate.cost = matmul_cost(request, spec, chip);
  candidate.macs_per_cycle = chip.costs().rate_mma_s8 * chip.multiprocessors;
  // Sums over b's codes are the kernel's own.
  const s64 n = matmul.views.geometry.n;
  const auto recipes = [product = matmul.product, n](const BindArgs&) {
    return epilogue_blobs(product, Tensor(), n,
                          [n] { return std::vector<s32>(static_cast<size_t>(n)); });
  };
  set_step(candidate, device_of(request),
           {.make_launch = [matmul,
                            spec](const BindArgs& bind) { return make_launch(matmul, spec, bind); },
            .recipes = recipes},
           [product = matmul.product](const StepData& data) {
             return matmul_mma::Params{data.input(kProductX), data.input(kProductWeights),
                                       epilogue_params(product, data, 0)};
           });
  return candidate;
}

}  // namespace octet::cuda
