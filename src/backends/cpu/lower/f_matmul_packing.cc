// SPDX-License-Identifier: Apache-2.0
// f32 product whose right side is no constant matrix, by kernels/float/panel.h, which f_matmul_panels.cc gives constant ones: a thread packs the
// panel that it multiplies by. Where oneDNN has kernels, f_matmul.cc is faster.
#include <algorithm>
#include <cstring>

#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/f_sum_end.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"
#include "ops/shared/matmul.h"

namespace octet {
namespace {

constexpr s64 kSerialProducts = 200000;

enum : size_t { kLeft, kRight, kSumBias, kAddend };

// Rows of the left side follow each other, and one right side is all batches'.
bool is_one_product(const MatMulGeometry& g) {
  for (s64 i = 0; i < g.batches(); ++i) {
    if (g.a_matrix(i) != i || g.b_matrix(i) != 0) return false;
  }
  return true;
}

struct PackingProduct {
  MatMulGeometry g;
  s64 batches, m;
  PanelKernel kernel;
  SumEndArgs end;
  Tensor bias;  // of whole panels
  bool adds;

  s64 width() const { return kernel.lanes * kPanelVectors; }
  s64 panels() const { return (g.n + width() - 1) / width(); }
  s64 room() const { return g.k * width(); }  // of a thread

  // Rows of whole vectors, zeros behind the last column.
  void pack(const f32* matrix, s64 channels, f32* to) const noexcept {
    const s64 row = channels > kernel.lanes ? width() : kernel.lanes;
    for (s64 k = 0; k < g.k; ++k, matrix += g.n, to += row) {
      std::copy_n(matrix, channels, to);
      std::fill(to + channels, to + row, 0.0f);
    }
  }

  void run(const StepArgs& args, s64 batch, s64 panel, f32* packed) const noexcept {
    const s64 first = panel * width(), channels = std::min(width(), g.n - first);
    const s64 at = batch * m * g.n + first;
    pack(f32_input(args, kRight) + g.b_matrix(batch) * g.k * g.n + first, channels, packed);
    const long begin = 0;
    PanelArgs product{};
    product.src = f32_input(args, kLeft) + g.a_matrix(batch) * m * g.k;
    product.src_step = g.k;
    product.runs = &begin;
    product.run_count = 1;
    product.run_length = g.k;
    product.weights = packed;
    product.bias = bias.as<f32>().data() + first;
    product.residual = adds ? f32_input(args, kAddend) + at : nullptr;
    product.residual_step = g.n;
    product.dst = f32_output(args, 0) + at;
    product.dst_step = g.n;
    product.count = m;
    product.channels = channels;
    product.end = end;
    kernel.function(&product);
  }

  void operator()(const StepArgs& args) const noexcept {
    const s64 units = batches * panels();
    const auto body = [&](s64 from, s64 to, int thread) {
      f32* packed = reinterpret_cast<f32*>(args.workspace) + thread * room();
      for (s64 i = from; i < to; ++i) run(args, i / panels(), i % panels(), packed);
    };
    if (units * m * g.k * width() < kSerialProducts) return body(0, units, 0);
    pool_of(args).parallel_for(units, body);
  }
};

std::string packing_reject(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return reason;
  if (dnnl_reject(request).empty()) return "oneDNN has kernels for it";
  if (request.has_input(kSumBias) && request.constant(kSumBias) == nullptr)
    return "the bias is not constant";
  if (request.constant(kAddend) != nullptr) return "the addend is constant";
  if (request.outputs[0].shape.elements() == 0 || request.inputs[kLeft].shape.elements() == 0)
    return "an operand is empty";
  return {};
}

Tensor bias_of(const LowerRequest& request, s64 columns, s64 padded) {
  Tensor bias(Dtype::f32, Shape{padded});
  const auto values = bias.mutable_as<f32>();
  std::ranges::fill(values, 0.0f);
  if (const Tensor* given = request.constant(kSumBias); request.has_input(kSumBias))
    std::copy_n(given->as<f32>().begin(), columns, values.begin());
  return bias;
}

}  // namespace

Offer lower_f_matmul_packing(const LowerRequest& request) {
  if (std::string reason = packing_reject(request); !reason.empty()) return Reject{reason};
  const MatMulGeometry g =
      matmul_geometry(request.inputs[kLeft].shape, request.inputs[kRight].shape);
  const bool one = is_one_product(g);
  const Isa isa = isa_of(request.target);
  PackingProduct step{.g = g,
                      .batches = one ? 1 : g.batches(),
                      .m = one ? g.batches() * g.m : g.m,
                      .kernel = panel_kernel(isa),
                      .end = sum_end_of(request.node),
                      .bias = {},
                      .adds = request.has_input(kAddend)};
  step.bias = bias_of(request, g.n, step.panels() * step.width());
  Candidate candidate;
  candidate.kernel = kernel_name("f32", "matmul_packing", isa);
  candidate.note = rounding_note(request.node);
  candidate.macs_per_cycle = real_unit_rate(isa);
  candidate.close = true;
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  if (step.adds) candidate.overwrites = {kAddend};
  candidate.holds.assign(request.inputs.size(), false);
  if (request.has_input(kSumBias)) candidate.holds[kSumBias] = true;
  candidate.workspace_bytes = step.room() * static_cast<s64>(sizeof(f32)) * request.target.threads;
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
