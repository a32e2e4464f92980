// SPDX-License-Identifier: Apache-2.0
// QTable, QuantizeLinear and DequantizeLinear: one value in, one value out, in whatever layout the input has.
#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/quantize/quantize.h"
#include "backends/cpu/kernels/codes/table/table.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/cpu/lower/unary_rows.h"
#include "backends/host/queue.h"
#include "ops/quantized/quant_axis.h"

namespace octet {
namespace {

// A candidate that keeps the input's layout and calls run(args, offset of the output, of the input, count).
template <class F>
Candidate elementwise(const LowerRequest& request, const char* kernel, const F& run) {
  Candidate candidate = candidate_of(request, kernel, common_layout(request));
  candidate.strided = candidate.by_image = true;
  candidate.bind = unary_rows(request, run);
  return candidate;
}

// Scale and zero point of a per-tensor QuantizeLinear or DequantizeLinear with u8 codes.
struct Scalars {
  f32 scale = 1.0f;
  s32 zero_point = 0;
};

std::string read(const LowerRequest& request, Scalars& scalars) {
  const Tensor* scale = request.constant(1);
  if (scale == nullptr || scale->dtype() != Dtype::f32) return "the scale is not constant f32";
  if (scale->elements() != 1) return "there is one scale for each index of an axis";
  scalars.scale = scale->as<f32>()[0];
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (!request.has_input(2)) return {};
  const Tensor* zero_point = request.constant(2);
  if (zero_point == nullptr || zero_point->dtype() != Dtype::u8 || zero_point->elements() != 1) {
    return "the zero point is not constant u8";
  }
  scalars.zero_point = zero_point->as<u8>()[0];
  return {};
}

// One scale, and maybe one zero point, for each index of an axis behind which enough elements lie together.
struct ScaledRows {
  std::vector<f32> scales;
  std::vector<s32> zero_points;
  s64 rows = 0;
  s64 length = 0;

  std::string read(const LowerRequest& request);
};

std::string ScaledRows::read(const LowerRequest& request) {
  constexpr s64 kShortest = 16;
  const Tensor* scale = request.constant(1);
  const Tensor* zero_point = request.has_input(2) ? request.constant(2) : nullptr;
  if (scale == nullptr || scale->dtype() != Dtype::f32) return "the scale is not constant f32";
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (request.has_input(2) && (zero_point == nullptr || zero_point->dtype() != Dtype::u8))
    return "the zero point is not constant u8";
  const Shape& shape = request.inputs[0].shape;
  const QuantAxis axis = quant_axis(request.node, shape, scale->shape());
  if (axis.block != 0) return "there is one scale for each block";
  if (axis.inner < kShortest) return "fewer than 16 elements share a scale";
  length = axis.inner;
  rows = shape.elements() / axis.inner;
  for (s64 c = 0; c < axis.count; ++c) {
    const auto at = static_cast<size_t>(c);
    scales.push_back(scale->as<f32>()[scale->elements() == 1 ? 0 : at]);
    const bool one = zero_point == nullptr || zero_point->elements() == 1;
    zero_points.push_back(zero_point == nullptr ? 0 : zero_point->as<u8>()[one ? 0 : at]);
  }
  return {};
}

// run(args, first element, count, scale, zero point) for each row; a thread takes whole rows.
template <class F>
Candidate by_rows(const LowerRequest& request, const char* kernel, ScaledRows rows, const F& run) {
  Candidate candidate = candidate_of(request, kernel, Layout::linear);
  candidate.note = "a scale for each channel";
  candidate.bind = [run, rows = std::make_shared<const ScaledRows>(std::move(rows))](
                       const BindArgs&) -> RunStep {
    return [run, rows](const StepArgs& args) {
      pool_of(args).parallel_for(rows->rows, [&](s64 begin, s64 end, int) {
        for (s64 i = begin; i < end; ++i) {
          const auto c = static_cast<size_t>(i % std::ssize(rows->scales));
          run(args, i * rows->length, rows->length, rows->scales[c], rows->zero_points[c]);
        }
      });
    };
  };
  return candidate;
}

// A table of s8 codes begins with that of -128; the kernel looks up the codes' bits as u8.
Tensor by_bits(const Tensor& table) {
  constexpr size_t kHalf = 128;
  Tensor turned(table.dtype(), table.shape());
  std::memcpy(turned.mutable_data(), table.data() + kHalf, kHalf);
  std::memcpy(turned.mutable_data() + kHalf, table.data(), kHalf);
  return turned;
}

}  // namespace

Offer lower_q_table(const LowerRequest& request) {
  const Tensor* table = request.constant(1);
  if (table == nullptr) return Reject{"the table is not a constant"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const TableKernel& kernel = best_kernel(kTableKernels, isa_of(request.target));
  const bool is_signed = request.inputs[0].dtype == Dtype::s8;
  const auto run = [&kernel, table = is_signed ? by_bits(*table) : *table](
                       const StepArgs& args, s64 dst, s64 src, s64 count) {
    kernel.run({u8_input(args, 0) + src, u8_output(args, 0) + dst, count,
                reinterpret_cast<const u8*>(table.data())});
  };
  Candidate candidate = elementwise(request, kernel.name, run);
  candidate.overwrites = {0};
  return candidate;
}

Offer lower_q_quantize_channels(const LowerRequest& request) {
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (request.outputs[0].dtype != Dtype::u8) return Reject{"the codes are not u8"};
  ScaledRows rows;
  if (std::string reason = rows.read(request); !reason.empty()) return Reject{reason};
  const QuantizeKernel& kernel = best_kernel(kQuantizeKernels, isa_of(request.target));
  return by_rows(request, kernel.name, std::move(rows),
                 [&kernel](const StepArgs& args, s64 at, s64 count, f32 scale, s32 zero_point) {
                   const f32* x = reinterpret_cast<const f32*>(args.inputs[0]);
                   kernel.run({x + at, u8_output(args, 0) + at, count, scale, zero_point, {}});
                 });
}

Offer lower_q_dequantize_channels(const LowerRequest& request) {
  if (request.inputs[0].dtype != Dtype::u8) return Reject{"the codes are not u8"};
  if (request.outputs[0].dtype != Dtype::f32) return Reject{"the output is not f32"};
  ScaledRows rows;
  if (std::string reason = rows.read(request); !reason.empty()) return Reject{reason};
  const DequantizeKernel& kernel = best_kernel(kDequantizeKernels, isa_of(request.target));
  return by_rows(request, kernel.name, std::move(rows),
                 [&kernel](const StepArgs& args, s64 at, s64 count, f32 scale, s32 zero_point) {
                   f32* y = reinterpret_cast<f32*>(args.outputs[0]);
                   kernel.run({u8_input(args, 0) + at, y + at, count, scale, zero_point});
                 });
}

Offer lower_q_quantize(const LowerRequest& request) {
  Scalars s;
  if (std::string reason = read(request, s); !reason.empty()) return Reject{reason};
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (request.outputs[0].dtype != Dtype::u8) return Reject{"the codes are not u8"};
  const QuantizeKernel& kernel = best_kernel(kQuantizeKernels, isa_of(request.target));
  const Shape& shape = request.inputs[0].shape;
  const NearQuotient near = near_quotient(s.scale, s.zero_point);
  // A picture that enters the graph goes to convolutions, so it changes layout on the way. Elsewhere linear values may
  // belong to attention, and keep theirs.
  const auto& entries = request.graph.inputs;
  const bool picture =
      shape.rank() == 4 && common_layout(request) == Layout::linear &&
      std::find(entries.begin(), entries.end(), request.node.input(0)) != entries.end();
  if (!picture) {
    const auto run = [&kernel, s, near](const StepArgs& args, s64 dst, s64 src, s64 count) {
      const f32* x = reinterpret_cast<const f32*>(args.inputs[0]);
      kernel.run({x + src, u8_output(args, 0) + dst, count, s.scale, s.zero_point, near});
    };
    return elementwise(request, kernel.name, run);
  }
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  candidate.outputs = {Layout::nhwc};
  candidate.note = "nchw to nhwc in one pass";
  candidate.strided = candidate.by_image = true;
  candidate.bind = [&kernel, s, near, shape](const BindArgs& bind) -> RunStep {
    const PlanarQuantize planar{&kernel,      shape, s.scale,
                                s.zero_point, near,  nhwc_placement(shape, bind.outputs[0])};
    return [planar](const StepArgs& args) {
      planar.run(reinterpret_cast<const f32*>(args.inputs[0]), u8_output(args, 0), pool_of(args));
    };
  };
  return candidate;
}

Offer lower_q_dequantize(const LowerRequest& request) {
  Scalars s;
  if (std::string reason = read(request, s); !reason.empty()) return Reject{reason};
  if (request.inputs[0].dtype != Dtype::u8) return Reject{"the codes are not u8"};
  if (request.outputs[0].dtype != Dtype::f32) return Reject{"the output is not f32"};
  const DequantizeKernel& kernel = best_kernel(kDequantizeKernels, isa_of(request.target));
  const auto run = [&kernel, s](const StepArgs& args, s64 dst, s64 src, s64 count) {
    f32* y = reinterpret_cast<f32*>(args.outputs[0]);
    kernel.run({u8_input(args, 0) + src, y + dst, count, s.scale, s.zero_point});
  };
  return elementwise(request, kernel.name, run);
}

}  // namespace octet
