// SPDX-License-Identifier: Apache-2.0
// QAdd, QMul and Min of codes: any broadcast whose rows are contiguous or constant in the memory order of the output.
#include <algorithm>
#include <array>
#include <memory>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/eltwise/eltwise.h"
#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "ops/attributes/codes.h"

namespace octet {
namespace {

struct BinaryStep {
  const BinaryKernel* kernel;
  BinaryArgs args;
  std::array<Tensor, 2> constants;  // in the output's memory order; empty for activations
  Rows rows;
};

// A rank-4 constant in the memory order of `layout`.
Tensor constant_in(const Tensor& tensor, Layout layout) {
  const Shape& s = tensor.shape();
  if (layout == Layout::linear || s.rank() != 4) return tensor;
  Tensor moved(tensor.dtype(), s);
  const s64 plane = s[2] * s[3], image = s[1] * plane;
  for (s64 n = 0; n < s[0]; ++n) {
    transpose_matrix(
        {tensor.data() + n * image, plane, moved.mutable_data() + n * image, s[1], s[1], plane},
        dtype_bytes(tensor.dtype()));
  }
  return moved;
}

// A constant of one value for each of a few channels, repeated for the pixels of a row: runs of three elements would cost a call each.
Tensor widened(const Tensor& tensor, const Shape& out, Layout layout) {
  constexpr s64 kShortRun = 64, kMostElements = 1 << 20;
  const Shape& given = tensor.shape();
  if (layout != Layout::nhwc || out.rank() != 4 || given.rank() < 3) return tensor;
  const Shape from = given.rank() == 4 ? given : Shape{1, given[0], given[1], given[2]};
  if (from[1] != out[1] || from[3] != 1) return tensor;
  if (out[1] == 1 || out[1] >= kShortRun || tensor.elements() > kMostElements / out[3])
    return tensor;
  Tensor wide(tensor.dtype(), Shape{from[0], from[1], from[2], out[3]});
  const std::byte* src = tensor.data();
  std::byte* dst = wide.mutable_data();
  for (s64 i = 0; i < tensor.elements(); ++i) {
    std::fill_n(dst + i * out[3], out[3], src[i]);
  }
  return wide;
}

Placement placement_of(const Shape& shape, Layout layout) {
  return Placement{.layout = shape.rank() == 4 ? layout : Layout::linear};
}

std::vector<RowOperand> operands_of(const LowerRequest& request, Layout layout) {
  std::vector<RowOperand> operands;
  for (const TensorType* type : {&request.outputs[0], &request.inputs[0], &request.inputs[1]}) {
    operands.push_back({type->shape, placement_of(type->shape, layout)});
  }
  return operands;
}

void run(const BinaryStep& step, const StepArgs& args) {
  const u8* operands[2];
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& constant = step.constants[i];
    operands[i] = constant ? reinterpret_cast<const u8*>(constant.data()) : u8_input(args, i);
  }
  u8* dst = u8_output(args, 0);
  step.rows.for_each(pool_of(args), [&](const Rows::Offsets& at, s64 count) {
    step.kernel->run({.a = operands[0] + at[1],
                      .b = operands[1] + at[2],
                      .dst = dst + at[0],
                      .count = count,
                      .a_stands = step.rows.step(1) == 0,
                      .b_stands = step.rows.step(2) == 0,
                      .args = &step.args});
  });
}

// Activations have the batch where the output has it, and constants are the same for all images.
bool is_by_image(const LowerRequest& request) {
  const int rank = request.outputs[0].shape.rank();
  for (size_t i = 0; i < 2; ++i) {
    const Shape& shape = request.inputs[i].shape;
    const bool constant = request.constant(i) != nullptr;
    if (constant ? shape.rank() == rank && rank > 0 && shape[0] != 1 : shape.rank() != rank)
      return false;
  }
  return true;
}

Offer lower_binary(const LowerRequest& request, const BinaryKernel& kernel, BinaryArgs args) {
  for (size_t i = 0; i < 2; ++i) {
    if (request.inputs[i].dtype != Dtype::u8) return Reject{"the codes are not u8"};
  }
  const Epilogue epilogue = epilogue_of(request.node);
  if (std::string reason = epilogue_reject(epilogue, false); !reason.empty()) return Reject{reason};
  args.zero_a = epilogue.zero_point(0);
  args.zero_b = epilogue.zero_point(1);
  args.epilogue = epilogue_args(epilogue, nullptr);
  const Layout layout = common_layout(request);
  std::vector<RowOperand> operands = operands_of(request, layout);
  BinaryStep step{.kernel = &kernel, .args = args, .constants = {}, .rows = {}};
  for (size_t i = 0; i < 2; ++i) {
    if (const Tensor* constant = request.constant(i)) {
      const Tensor wide = widened(*constant, request.outputs[0].shape, layout);
      operands[i + 1] = {wide.shape(), placement_of(wide.shape(), layout)};
      step.constants[i] = constant_in(wide, layout);
    }
  }
  if (!Rows::possible(operands)) return Reject{"the broadcast strides within a row"};
  Candidate candidate = candidate_of(request, kernel.name, layout);
  candidate.strided = true;
  candidate.by_image = is_by_image(request);
  for (size_t i = 0; i < 2; ++i) {
    if (request.inputs[i].shape == request.outputs[0].shape) candidate.overwrites.push_back(i);
  }
  candidate.bind = [step, operands](const BindArgs& bind) -> RunStep {
    std::vector<RowOperand> placed = operands;
    placed[0].placement = bind.outputs[0];
    for (size_t i = 0; i < 2; ++i) {
      if (!step.constants[i]) placed[i + 1].placement = bind.inputs[i];
    }
    auto bound = std::make_shared<BinaryStep>(step);
    bound->rows = Rows(placed);
    return [bound](const StepArgs& a) { run(*bound, a); };
  };
  return candidate;
}

}  // namespace

Offer lower_q_add(const LowerRequest& request) {
  const std::vector<f32> multipliers = attribute_of<&QAddAttributes::multipliers>(request.node);
  if (multipliers.size() != 2) return Reject{"there are not two multipliers"};
  BinaryArgs args;
  args.multiplier_a = multipliers[0];
  args.multiplier_b = multipliers[1];
  return lower_binary(request, best_kernel(kAddKernels, isa_of(request.target)), args);
}

Offer lower_q_min(const LowerRequest& request) {
  if (request.inputs.size() != 2) return Reject{"there are not two operands"};
  return lower_binary(request, best_kernel(kMinKernels, isa_of(request.target)), {});
}

Offer lower_q_mul(const LowerRequest& request) {
  BinaryArgs args;
  args.multiplier_a = attribute_of<&QMulAttributes::multiplier>(request.node);
  return lower_binary(request, best_kernel(kMulKernels, isa_of(request.target)), args);
}

}  // namespace octet
