// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear of 16-bit codes with one scale. Products of such codes are real: between them these two run.
#include <algorithm>
#include <memory>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/quantize/quantize.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/cpu/lower/unary_rows.h"
#include "backends/host/queue.h"

namespace octet {
namespace {

struct WideScalars {
  f32 scale = 1.0f;
  s32 zero_point = 0;
  bool is_signed = false;

  std::string read(const LowerRequest& request, Dtype codes);
};

std::string WideScalars::read(const LowerRequest& request, Dtype codes) {
  const auto runs = [&](const QuantizeWideKernel& row) {
    return isa_of(request.target).has(row.isa);
  };
  if (std::ranges::none_of(kQuantizeWideKernels, runs)) return "the instruction set has no vectors";
  if (codes != Dtype::u16 && codes != Dtype::s16) return "the codes are neither u16 nor s16";
  if (request.constant(0) != nullptr) return "the input is a constant";
  const Tensor* given = request.constant(1);
  if (given == nullptr || given->dtype() != Dtype::f32) return "the scale is not constant f32";
  if (given->elements() != 1) return "there is one scale for each index of an axis";
  scale = given->as<f32>()[0];
  is_signed = codes == Dtype::s16;
  if (!request.has_input(2)) return {};
  const Tensor* zero = request.constant(2);
  if (zero == nullptr || zero->dtype() != codes || zero->elements() != 1)
    return "the zero point is not constant";
  zero_point = is_signed ? zero->as<s16>()[0] : zero->as<u16>()[0];
  return {};
}

template <class F>
Candidate wide_elementwise(const LowerRequest& request, const char* kernel, const F& run) {
  Candidate candidate = candidate_of(request, kernel, common_layout(request));
  candidate.bind = unary_rows(request, run);
  return candidate;
}

}  // namespace

Offer lower_quantize_wide(const LowerRequest& request) {
  WideScalars s;
  if (std::string reason = s.read(request, request.outputs[0].dtype); !reason.empty())
    return Reject{reason};
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  const QuantizeWideKernel& kernel = best_kernel(kQuantizeWideKernels, isa_of(request.target));
  return wide_elementwise(request, kernel.name,
                          [s, &kernel](const StepArgs& args, s64 dst, s64 src, s64 count) {
                            kernel.run({reinterpret_cast<const f32*>(args.inputs[0]) + src,
                                        reinterpret_cast<u16*>(args.outputs[0]) + dst, count,
                                        s.scale, s.zero_point, s.is_signed ? -32768 : 0});
                          });
}

Offer lower_dequantize_wide(const LowerRequest& request) {
  WideScalars s;
  if (std::string reason = s.read(request, request.inputs[0].dtype); !reason.empty())
    return Reject{reason};
  if (request.outputs[0].dtype != Dtype::f32) return Reject{"the output is not f32"};
  const DequantizeWideKernel& kernel = best_kernel(kDequantizeWideKernels, isa_of(request.target));
  return wide_elementwise(request, kernel.name,
                          [s, &kernel](const StepArgs& args, s64 dst, s64 src, s64 count) {
                            kernel.run({reinterpret_cast<const u16*>(args.inputs[0]) + src,
                                        reinterpret_cast<f32*>(args.outputs[0]) + dst, count,
                                        s.scale, s.zero_point, s.is_signed});
                          });
}

}  // namespace octet
