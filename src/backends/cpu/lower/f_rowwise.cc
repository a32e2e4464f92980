// SPDX-License-Identifier: Apache-2.0
// f32 operators whose unit is a dense row: Softmax, LogSoftmax, LayerNormalization, RMSNormalization. A Softmax over another axis than the last takes
// many rows side by side, or the channels of pixels.
#include <algorithm>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/host/queue.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"
#include "ops/shared/softmax.h"

namespace octet {
namespace {

// Fewer elements than this cost less than waking a thread.
constexpr s64 kSerial = 16384;

// So many that their results still lie in the first cache when they are rounded, and no fewer than kernels of short rows take at once.
constexpr s64 rows_of_a_piece(s64 count) {
  constexpr s64 kShortRow = 8, kAtOnce = 16;
  if (count > kShortRow) return std::max<s64>(1, kRoundedPiece / count);
  return kRoundedPiece / std::max<s64>(count, 1) / kAtOnce * kAtOnce;
}

struct RowStep {
  void (*function)(const RowArgs*);
  s64 rows, count;
  Tensor scale, bias;
  f32 epsilon;
  UnaryFunction rounds = nullptr;

  void operator()(const StepArgs& step) const noexcept {
    const f32* src = f32_input(step, 0);
    f32* dst = f32_output(step, 0);
    const auto take = [&](s64 begin, s64 end) {
      const RowArgs args{src + begin * count,
                         dst + begin * count,
                         count,
                         reinterpret_cast<const f32*>(scale.data()),
                         reinterpret_cast<const f32*>(bias.data()),
                         epsilon,
                         end - begin};
      function(&args);
      round_in_place(rounds, args.dst, (end - begin) * count);
    };
    const auto body = [&](s64 begin, s64 end, int) {
      const s64 most = rounds == nullptr ? end - begin : rows_of_a_piece(count);
      for (s64 row = begin; row < end; row += most) take(row, std::min(end, row + most));
    };
    if (rows * count < kSerial) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

// Columns that a thread takes at once: some registers of them, so that each line of memory is read by one thread.
constexpr s64 kColumnBlock = 64;

struct SoftmaxColumnsStep {
  void (*function)(const SoftmaxColumnsArgs*);
  SoftmaxGeometry g;
  UnaryFunction rounds;

  void operator()(const StepArgs& step) const noexcept {
    const s64 blocks = (g.inner + kColumnBlock - 1) / kColumnBlock;
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 item = begin; item < end; ++item) {
        const s64 first = item % blocks * kColumnBlock;
        const s64 at = item / blocks * g.count * g.inner + first;
        const SoftmaxColumnsArgs args{f32_input(step, 0) + at, f32_output(step, 0) + at, g.count,
                                      g.inner, std::min(kColumnBlock, g.inner - first)};
        function(&args);
        for (s64 i = 0; rounds != nullptr && i < g.count; ++i)
          round_in_place(rounds, args.dst + i * args.stride, args.columns);
      }
    };
    if (g.outer * g.count * g.inner < kSerial) return body(0, g.outer * blocks, 0);
    pool_of(step).parallel_for(g.outer * blocks, body);
  }
};

Candidate columns_candidate(const LowerRequest& request, const SoftmaxGeometry& g) {
  const Isa isa = isa_of(request.target);
  Candidate candidate;
  candidate.kernel = kernel_name("f32", kSoftmaxColumnsF32.name, isa);
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.note = rounding_note(request.node);
  const SoftmaxColumnsStep step{kernel_for(kSoftmaxColumnsF32, isa), g,
                                rounding_function(request.node, isa)};
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

Candidate row_candidate(const LowerRequest& request, const FloatKernel<RowArgs>& kernel,
                        RowStep step) {
  step.function = kernel_for(kernel, isa_of(request.target));
  step.rounds = rounding_function(request.node, isa_of(request.target));
  Candidate candidate;
  candidate.kernel = kernel_name("f32", kernel.name, isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = request.constants();
  candidate.holds[0] = false;
  candidate.note = rounding_note(request.node);
  candidate.bind = [step](const BindArgs&) { return step; };
  return candidate;
}

// The channels of a pixel are a row where they lie one behind the other.
bool rows_are_pixels(const LowerRequest& request, const SoftmaxGeometry& g) {
  const Shape& shape = request.inputs[0].shape;
  return shape.rank() == 4 && request.layouts[0] == Layout::nhwc && g.count == shape[1] &&
         g.inner == shape[2] * shape[3];
}

bool rows_are_dense(const LowerRequest& request, const SoftmaxGeometry& g) {
  return g.inner == 1 || rows_are_pixels(request, g);
}

Candidate softmax_candidate(const LowerRequest& request, const FloatKernel<RowArgs>& kernel,
                            const SoftmaxGeometry& g) {
  const s64 rows = request.inputs[0].shape.elements() / g.count;
  Candidate candidate = row_candidate(request, kernel, {nullptr, rows, g.count, {}, {}, 0.0f});
  if (!rows_are_pixels(request, g)) return candidate;
  candidate.inputs[0] = Layout::nhwc;
  candidate.outputs = {Layout::nhwc};
  return candidate;
}

struct NormRows {
  s64 rows, count;  // of elements
};

// From the axis on all is one row.
NormRows norm_rows(const LowerRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const int axis =
      normalize_axis(attribute_of<&RowNormAttributes::axis>(request.node), shape.rank());
  const s64 count = dims_product(shape, axis, shape.rank());
  return {count == 0 ? 0 : shape.elements() / count, count};
}

}  // namespace

Offer lower_f_softmax(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  if (request.inputs[0].shape.elements() == 0) return Reject{"there is nothing to normalize"};
  const SoftmaxGeometry g = softmax_geometry(request.node, request.inputs[0].shape);
  if (!rows_are_dense(request, g)) return columns_candidate(request, g);
  return softmax_candidate(request, kSoftmaxF32, g);
}

Offer lower_f_log_softmax(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  if (request.inputs[0].shape.elements() == 0) return Reject{"there is nothing to normalize"};
  const SoftmaxGeometry g = softmax_geometry(request.node, request.inputs[0].shape);
  if (!rows_are_dense(request, g)) return Reject{"its rows do not lie along the last axis"};
  return softmax_candidate(request, kLogSoftmaxF32, g);
}

Offer lower_f_rms_norm(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  const Tensor* scale = request.constant(1);
  if (scale == nullptr) return Reject{"the scale is not constant"};
  const auto [rows, count] = norm_rows(request);
  return row_candidate(
      request, kRmsNormF32,
      {nullptr, rows, count, *scale, {}, attribute_of<&RowNormAttributes::epsilon>(request.node)});
}

Offer lower_f_layer_norm(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  if (request.outputs.size() != 1) return Reject{"the statistics are outputs too"};
  const Tensor* scale = request.constant(1);
  const Tensor* bias = request.constant(2);
  if (scale == nullptr || (request.has_input(2) && bias == nullptr)) {
    return Reject{"scale or bias is not constant"};
  }
  const auto [rows, count] = norm_rows(request);
  return row_candidate(
      request, kLayerNormF32,
      {nullptr, rows, count, *scale, bias ? *bias : Tensor(Dtype::f32, Shape{count}),
       attribute_of<&RowNormAttributes::epsilon>(request.node)});
}

}  // namespace octet
