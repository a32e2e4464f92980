// SPDX-License-Identifier: Apache-2.0
// CumSum of integers (positions of tokens) and of reals: kernels/running_sum.cu.
#include "backends/cpu/lower/resize_request.h"
#include "backends/cuda/lower/integers.h"
#include "backends/cuda/lower/move.h"
#include "core/divide.h"
#include "ops/shared/axes.h"

namespace octet::cuda {

Offer lower_running_sum(const LowerRequest& request) {
  constexpr s64 kMostCount = 1 << 16;
  constexpr int kThreads = 64;
  const TensorType& x = request.inputs[0];
  const bool is_real = x.dtype == Dtype::f32;
  if (!is_real && !is_integer(x.dtype)) return Reject{"only integers and f32 are added up"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  std::vector<s64> axes;
  if (!read_constant_ints(request, 1, axes)) return Reject{"the axis is not constant"};
  if (x.shape.elements() == 0) return Reject{"there is nothing to compute"};
  const int axis = normalize_axis(axes[0], x.shape.rank());
  const s64 count = x.shape[axis], lines = x.shape.elements() / count;
  if (count > kMostCount) return Reject{"a line has more than 2^16 elements"};
  Launch launch{.source = {"running_sum", {}}, .shape = {}};
  KernelSource& source = launch.source;
  source.set("ELEMENT", kernel_type(x.dtype)),
      source.set("SUM", is_real ? "f32" : wrapping_type(x.dtype));
  source.set("LINES", lines), source.set("COUNT", count);
  source.set("INNER", dims_product(x.shape, axis + 1, x.shape.rank()));
  source.set("REVERSE", s64{request.node.attrs.i("reverse", 0) != 0});
  source.set("EXCLUSIVE", s64{request.node.attrs.i("exclusive", 0) != 0});
  launch.shape = {.blocks = ceil_div(lines, s64{kThreads}), .threads = kThreads};
  Candidate candidate = candidate_of(request, "running_sum", Layout::linear);
  set_step(candidate, device_of(request),
           {.make_launch = [launch](const BindArgs&) { return launch; }},
           [](const StepData& data) { return move_params(data.input(0), data.output()); });
  return candidate;
}

}  // namespace octet::cuda
