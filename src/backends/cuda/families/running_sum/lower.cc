// SPDX-License-Identifier: Apache-2.0
// CumSum of integers (positions of tokens) and of reals.
#include "backends/cpu/lower/resize_request.h"
#include "backends/cuda/families/running_sum/spec.h"
#include "backends/cuda/lower/element_type.h"
#include "backends/cuda/lower/integers.h"
#include "backends/cuda/lower/step.h"
#include "ops/attributes/reduction.h"
#include "ops/shared/axes.h"

namespace octet::cuda {

Offer lower_running_sum(const LowerRequest& request) {
  constexpr s64 kMostCount = 1 << 16;
  const TensorType& x = request.inputs[0];
  if (x.dtype != Dtype::f32 && !is_integer(x.dtype))
    return Reject{"only integers and f32 are added up"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  std::vector<s64> axes;
  if (!read_constant_ints(request, 1, axes)) return Reject{"the axis is not constant"};
  if (x.shape.elements() == 0) return Reject{"there is nothing to compute"};
  const int axis = normalize_axis(axes[0], x.shape.rank());
  const s64 count = x.shape[axis], lines = x.shape.elements() / count;
  if (count > kMostCount) return Reject{"a line has more than 2^16 elements"};
  const running_sum::Spec spec{
      .element = element_type(x.dtype),
      .lines = lines,
      .count = field_of(count),
      .inner = dims_product(x.shape, axis + 1, x.shape.rank()),
      .reverse = attribute_of<&CumulativeAttributes::reverse>(request.node),
      .exclusive = attribute_of<&CumulativeAttributes::exclusive>(request.node)};
  const Launch launch{.source = source_of("running_sum", spec),
                      .shape = {.blocks = running_sum::blocks(spec),
                                .threads = running_sum::kThreads,
                                .programmatic_dependent = true}};
  Candidate candidate = candidate_of(request, "running_sum", Layout::linear);
  set_step(candidate, device_of(request),
           {.make_launch = [launch](const BindArgs&) { return launch; }}, [](const StepData& data) {
             return running_sum::Params{data.input(0), data.output()};
           });
  return candidate;
}

}  // namespace octet::cuda
