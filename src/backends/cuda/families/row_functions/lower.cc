// SPDX-License-Identifier: Apache-2.0
// LogSoftmax and LpNormalization of reals.
#include "backends/cuda/families/row_functions/spec.h"
#include "backends/cuda/lower/step.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/softmax.h"

namespace octet::cuda {
namespace {

using row_functions::Function;

Offer offer(const LowerRequest& request, const char* kernel, Function function) {
  constexpr s64 kMostCount = s64{1} << 31;
  const TensorType& x = request.inputs[0];
  if (x.dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  if (x.shape.elements() == 0) return Reject{"there is nothing to compute"};
  const SoftmaxGeometry g = softmax_geometry(request.node, x.shape);
  if (g.count >= kMostCount - row_functions::kLanes) return Reject{"a row has 2^31 elements"};
  const row_functions::Spec spec{.function = function,
                                 .rows = g.outer * g.inner,
                                 .count = field_of(g.count),
                                 .inner = g.inner};
  const Launch launch{.source = source_of("row_functions", spec),
                      .shape = {.blocks = row_functions::blocks(spec),
                                .threads = row_functions::kThreads,
                                .programmatic_dependent = true}};
  Candidate candidate = candidate_of(request, kernel, Layout::linear);
  set_step(candidate, device_of(request),
           {.make_launch = [launch](const BindArgs&) { return launch; }}, [](const StepData& data) {
             return row_functions::Params{reinterpret_cast<const f32*>(data.input(0)),
                                          reinterpret_cast<f32*>(data.output())};
           });
  return candidate;
}

}  // namespace

Offer lower_log_softmax(const LowerRequest& request) {
  return offer(request, "log_softmax_f32", Function::log_softmax);
}

Offer lower_lp_norm(const LowerRequest& request) {
  return offer(request, "lp_norm_f32",
               attribute_of<&LpNormAttributes::p>(request.node) == 2 ? Function::l2 : Function::l1);
}

}  // namespace octet::cuda
