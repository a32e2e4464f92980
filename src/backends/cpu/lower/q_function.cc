// SPDX-License-Identifier: Apache-2.0
// QFunction: a function of reals and the quantization of what it gives, a piece at a time that stays in L1.
#include <algorithm>
#include <memory>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/quantize/quantize.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/cpu/lower/f_unary.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "ops/quantized/qfunction.h"

namespace octet {
namespace {

constexpr s64 kPiece = 1024;

struct FunctionStep {
  UnaryChoice choice;
  const QuantizeKernel* kernel;
  f32 scale;
  s32 zero_point;
  NearQuotient near;

  void run(const f32* src, u8* dst, s64 count) const noexcept {
    f32 reals[kPiece];
    for (s64 i = 0; i < count; i += kPiece) {
      const s64 some = std::min(kPiece, count - i);
      const UnaryArgs args{src + i, reals, some, choice.a, choice.b};
      choice.function(&args);
      kernel->run({reals, dst + i, some, scale, zero_point, near});
    }
  }
};

}  // namespace

Offer lower_q_function(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty())
    return Reject{reason};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const Epilogue epilogue = epilogue_of(request.node);
  if (epilogue.output_dtype != Dtype::u8) return Reject{"the output codes are not u8"};
  if (epilogue.range.lo != 0 || epilogue.range.hi != 255) return Reject{"the output is clamped"};
  const Node function = function_of(request.node);
  const UnaryChoice choice = choose_unary(
      {request.graph, function, request.inputs, request.inputs, request.layouts, request.target});
  if (!choice.reject.empty()) return Reject{choice.reject};
  const f32 scale = function_scale(request.node);
  const s32 zero = epilogue.range.zero_point;
  const FunctionStep step{choice, &best_kernel(kQuantizeKernels, isa_of(request.target)), scale,
                          zero, near_quotient(scale, zero)};
  Candidate candidate = candidate_of(request, "", common_layout(request));
  candidate.kernel = kernel_name("f32_u8", choice.name, isa_of(request.target));
  // One channel leaves no dense dimension to walk when its pixels are apart.
  candidate.strided = request.layouts[0] == Layout::nhwc && request.outputs[0].shape[1] != 1;
  candidate.bind = [step, shape = request.outputs[0].shape](const BindArgs& bind) -> RunStep {
    const RowOperand operands[] = {{shape, bind.outputs[0]}, {shape, bind.inputs[0]}};
    auto rows = std::make_shared<const Rows>(operands);
    return [step, rows](const StepArgs& args) {
      rows->for_each(pool_of(args), [&](const Rows::Offsets& at, s64 count) {
        step.run(f32_input(args, 0) + at[1], u8_output(args, 0) + at[0], count);
      });
    };
  };
  return candidate;
}

}  // namespace octet
