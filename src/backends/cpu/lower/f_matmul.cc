// SPDX-License-Identifier: Apache-2.0
// f32 matrix product through oneDNN: a constant right side is packed once; bias, residual and activation are fused.
// Threads share out the batches, or the rows of one product.
#include "backends/cpu/lower/dnnl_api.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_dnnl.h"
#include "core/check.h"
#include "ops/shared/matmul.h"

namespace octet {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using MatMulDesc = dnnl::matmul::primitive_desc;

constexpr auto kF32 = memory::data_type::f32;
// Fewer rows read a right side that a run brings in less time than it takes to narrow it.
constexpr s64 kFewRows = 16;

enum : size_t { kA, kB, kBias, kResidual };

struct Product {
  s64 batches, m, k, n;
  bool batched_b = false;  // each batch has its own right side
  bool constant_b = false;
  bool bias = false;
  bool residual = false;
  Activation activation;
  memory::data_type type = kF32;  // of both sides
};

// Batches [batch, batch + batches), rows [row, row + rows) of each.
struct Part {
  s64 batch, batches, row, rows;
  s64 a_matrix, b_matrix;
};

// Both operands walk the batches densely, or the right side is shared: then whole ranges of batches are one primitive.
bool regular(const MatMulGeometry& g) {
  for (s64 i = 0; i < g.batches(); ++i) {
    if (g.a_matrix(i) != i || g.b_matrix(i) != i) return false;
  }
  return true;
}

bool shared_b(const MatMulGeometry& g) {
  for (s64 i = 0; i < g.batches(); ++i) {
    if (g.a_matrix(i) != i || g.b_matrix(i) != 0) return false;
  }
  return true;
}

std::vector<Part> split_rows(const Product& p, s64 count) {
  std::vector<Part> parts;
  for (s64 i = 0; i < count; ++i) {
    const s64 begin = part_begin(p.m, count, i);
    parts.push_back({0, 1, begin, part_begin(p.m, count, i + 1) - begin, 0, 0});
  }
  return parts;
}

std::vector<Part> parts_of(const Product& p, const MatMulGeometry& g, int threads) {
  const s64 wanted = p.batches * p.m * p.k * p.n > kSerialMacs ? threads : 1;
  if (!p.batched_b) return split_rows(p, std::min<s64>(wanted, p.m));
  std::vector<Part> parts;
  const s64 count = regular(g) ? std::min<s64>(wanted, p.batches) : p.batches;
  for (s64 i = 0; i < count; ++i) {
    const s64 begin = part_begin(p.batches, count, i), end = part_begin(p.batches, count, i + 1);
    parts.push_back({begin, end - begin, 0, p.m, g.a_matrix(begin), g.b_matrix(begin)});
  }
  return parts;
}

// [batches,] rows, columns; dense.
memory::desc matrices(const Product& p, s64 batches, s64 rows, s64 columns,
                      memory::data_type type = kF32) {
  if (!p.batched_b) return {Dims{rows, columns}, type, memory::format_tag::ab};
  return {Dims{batches, rows, columns}, type, memory::format_tag::abc};
}

MatMulDesc describe(const Product& p, const Part& part, const memory::desc& weights) {
  const memory::desc bias = p.bias ? matrices(p, 1, 1, p.n) : memory::desc();
  const SingleThread guard;
  return dnnl_matrix_product({matrices(p, part.batches, part.rows, p.k, p.type), weights, bias,
                              matrices(p, part.batches, part.rows, p.n)},
                             product_attributes(p.activation, p.residual), dnnl_engine());
}

memory::desc weights_desc(const Product& p, const Part& part,
                          const std::vector<ProductSlice>& before) {
  if (p.batched_b || !p.constant_b) return matrices(p, part.batches, p.k, p.n, p.type);
  if (!before.empty()) return before.front().weights();
  return {Dims{p.k, p.n}, p.type, memory::format_tag::any};
}

std::vector<ProductSlice> slices_of(const Product& p, const MatMulGeometry& g, int threads) {
  std::vector<ProductSlice> slices;
  for (const Part& part : parts_of(p, g, threads)) {
    const DnnlSlice::Place place{
        .src = (part.a_matrix * p.m + part.row) * p.k,
        .weights = part.b_matrix * p.k * p.n,
        .dst = (part.batch * p.m + part.row) * p.n,
        .dst_elements = part.batches * part.rows * p.n,
        .src_bytes = p.type == kF32 ? s64{sizeof(f32)} : s64{sizeof(bf16)},
        .weights_bytes = p.type == kF32 ? s64{sizeof(f32)} : s64{sizeof(bf16)}};
    slices.push_back({describe(p, part, weights_desc(p, part, slices)), place});
  }
  return slices;
}

Product product_of(const LowerRequest& request, const MatMulGeometry& g) {
  Product p{.batches = g.batches(), .m = g.m, .k = g.k, .n = g.n, .activation = {}};
  p.batched_b = !shared_b(g);
  if (!p.batched_b) {
    p.m *= p.batches;
    p.batches = 1;
  }
  p.constant_b = request.constant(kB) != nullptr;
  p.bias = request.has_input(kBias);
  p.residual = request.has_input(kResidual);
  p.activation = activation_of(request.node);
  return p;
}

std::string reject(const LowerRequest& request) {
  if (std::string reason = dnnl_reject(request); !reason.empty()) return reason;
  if (request.has_input(kBias) && request.constant(kBias) == nullptr)
    return "the bias is not constant";
  if (request.constant(kResidual) != nullptr) return "the residual is constant";
  if (request.outputs[0].shape.elements() == 0 || request.inputs[kA].shape.elements() == 0) {
    return "an operand is empty";
  }
  return {};
}

}  // namespace

namespace {

Offer offer(const LowerRequest& request, memory::data_type type) {
  const MatMulGeometry geometry =
      matmul_geometry(request.inputs[kA].shape, request.inputs[kB].shape);
  Product product = product_of(request, geometry);
  product.type = type;
  const bool narrow = type != kF32;
  if (narrow && product.batched_b && product.constant_b)
    return Reject{"the right side is a constant of several matrices"};
  if (narrow && !product.constant_b && product.m < kFewRows)
    return Reject{"to narrow the right side takes longer than the product"};
  if (narrow && request.constant(kA) != nullptr) return Reject{"the left side is constant"};
  const auto constant = [&](size_t i) {
    return request.constant(i) ? *request.constant(i) : Tensor();
  };
  ProductStep step{
      .kernel = narrow ? "dnnl_matmul_bf16" : "dnnl_matmul_f32",
      .slices = slices_of(product, geometry, request.target.threads),
      .weights = constant(kB),
      .bias = constant(kBias),
      .source = constant(kA),
      .residual_input = product.residual ? size_t{kResidual} : size_t{0},
      .narrow = {narrow ? request.inputs[kA].shape.elements() : 0,
                 narrow && !product.constant_b ? request.inputs[kB].shape.elements() : 0}};
  // Only a shared right side is packed; batches are read in the order that the graph has.
  step.weights_given = product.batched_b ? step.slices.front().weights()
                                         : matrices(product, 1, product.k, product.n);
  return product_candidate(request, step);
}

}  // namespace

Offer lower_f_matmul(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  return product_offer(request, [&](memory::data_type type) { return offer(request, type); });
}

}  // namespace octet
