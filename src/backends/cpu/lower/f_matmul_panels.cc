// SPDX-License-Identifier: Apache-2.0
// f32 product of a matrix by a constant one through our own kernels, as a convolution of 1x1 whose pixels are the rows. What they do not take is
// f_matmul.cc's.
#include "backends/cpu/device.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_dnnl.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/f_sum_end.h"
#include "ops/shared/matmul.h"

namespace octet {
namespace {

// Larger weights come from beyond a core's cache for each product, and oneDNN asks for them earlier.
constexpr s64 kMostWeights = s64{128} << 10;

enum : size_t { kRows, kMatrix, kRowBias, kRowAddend };

std::string matmul_panels_reject(const LowerRequest& request) {
  if (std::string reason = panel_reject(request); !reason.empty()) return reason;
  if (request.constant(kMatrix) == nullptr) return "the right side is no constant";
  if (request.constant(kRows) != nullptr) return "the left side is constant";
  if (request.inputs[kMatrix].shape.elements() != 0 && request.inputs[kMatrix].shape.rank() != 2)
    return "the right side is no matrix";
  if (request.has_input(kRowBias) && request.constant(kRowBias) == nullptr)
    return "the bias is not constant";
  if (request.constant(kRowAddend) != nullptr) return "the residual is constant";
  if (request.outputs[0].shape.elements() == 0 || request.inputs[kRows].shape.elements() == 0)
    return "an operand is empty";
  // Where oneDNN's kernels are none of this processor's, nothing else multiplies.
  if (request.inputs[kMatrix].bytes() > kMostWeights && dnnl_reject(request).empty())
    return "the weights have more than 128 KiB";
  if (multiplies_bf16(request)) return "the products are of bf16";
  return {};
}

}  // namespace

Offer lower_f_matmul_panels(const LowerRequest& request) {
  if (std::string reason = matmul_panels_reject(request); !reason.empty()) return Reject{reason};
  const MatMulGeometry m =
      matmul_geometry(request.inputs[kRows].shape, request.inputs[kMatrix].shape);
  const Isa isa = isa_of(request.target);
  const bool adds = request.has_input(kRowAddend);
  const PanelSpec spec{.geometry = rows_as_pixels(m.batches() * m.m, m.k, m.n),
                       .kernel = panel_kernel(isa),
                       .end = sum_end_of(request.node),
                       .image = false,
                       .residual_input = adds ? size_t{kRowAddend} : size_t{0},
                       .threads = request.target.threads};
  Candidate candidate = panel_candidate(request, spec, {1, m.n, 1, m.k, 1, 0, m.n});
  candidate.kernel = kernel_name("f32", "matmul", isa);
  return candidate;
}

}  // namespace octet
