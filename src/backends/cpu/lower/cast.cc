// SPDX-License-Identifier: Apache-2.0
// Cast, element by element in whatever layout the input has: f16 and f32 by vector instructions, other pairs by the definition,
// shared out to the threads.
#include "backends/cpu/kernels/float/cast.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpu/device.h"
#include "backends/host/queue.h"
#include "ops/shared/convert.h"
#include "plan/offer.h"

namespace octet {
namespace {

constexpr s64 kPiece = 4096;

CastFunction kernel_of(Dtype from, Dtype to, Isa isa) {
  const CastKernels* kernels = isa.has(Isa::neon)   ? &kCastsNeon
                               : isa.has(Isa::avx2) ? &kCastsAvx2
                                                    : nullptr;
  if (kernels == nullptr) return nullptr;
  if (from == Dtype::f16 && to == Dtype::f32) return kernels->f16_to_f32;
  if (from == Dtype::f32 && to == Dtype::f16) return kernels->f32_to_f16;
  if (from == Dtype::f32 && to == Dtype::bf16) return kernels->f32_to_bf16;
  return nullptr;
}

struct CastStep {
  CastFunction function;  // null: the definition
  Dtype from, to;
  s64 elements;

  void piece(const std::byte* src, std::byte* dst, s64 first, s64 last) const noexcept {
    src += first * static_cast<s64>(dtype_bytes(from));
    dst += first * static_cast<s64>(dtype_bytes(to));
    if (function == nullptr) {
      return convert_elements({from, Shape{last - first}, src}, {to, Shape{last - first}, dst});
    }
    const CastArgs args{src, dst, last - first};
    function(&args);
  }

  void operator()(const StepArgs& step) const noexcept {
    const auto body = [&](s64 begin, s64 end, int) {
      piece(step.inputs[0], step.outputs[0], begin * kPiece, std::min(end * kPiece, elements));
    };
    const s64 pieces = (elements + kPiece - 1) / kPiece;
    if (pieces < 4) return body(0, pieces, 0);
    pool_of(step).parallel_for(pieces, body);
  }
};

}  // namespace

Offer lower_cast(const LowerRequest& request) {
  const Dtype from = request.inputs[0].dtype, to = request.outputs[0].dtype;
  if (is_small_dtype(from) || is_small_dtype(to)) {
    return Reject{
        fmt::format("{} to {} is left to the reference", dtype_name(from), dtype_name(to))};
  }
  const CastStep step{kernel_of(from, to, isa_of(request.target)), from, to,
                      request.outputs[0].shape.elements()};
  Candidate candidate;
  candidate.kernel = "cast";
  if (step.function != nullptr) {
    candidate.kernel += to == Dtype::bf16 ? "_bf16" : "_f16";
    candidate.kernel += isa_of(request.target).has(Isa::neon) ? "_neon" : "_avx2";
  }
  candidate.inputs = request.layouts;
  candidate.outputs = request.layouts;
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
