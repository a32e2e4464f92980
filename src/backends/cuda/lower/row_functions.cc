// SPDX-License-Identifier: Apache-2.0
// LogSoftmax and LpNormalization of reals: kernels/row_functions.cu.
#include "backends/cuda/lower/step.h"
#include "core/divide.h"
#include "ops/shared/softmax.h"

namespace octet::cuda {
namespace {

// As text of CUDA.
struct RowFunction {
  const char* kernel = "";
  bool find_most = false;
  std::string value = {}, norm = {}, result = {};
};

Offer offer(const LowerRequest& request, const RowFunction& function) {
  constexpr s64 kLanes = 16, kThreads = 128, kMostCount = s64{1} << 31;
  const TensorType& x = request.inputs[0];
  if (x.dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  if (x.shape.elements() == 0) return Reject{"there is nothing to compute"};
  const SoftmaxGeometry g = softmax_geometry(request.node, x.shape);
  if (g.count >= kMostCount - kLanes) return Reject{"a row has 2^31 elements"};
  const s64 rows = g.outer * g.inner;
  Launch launch{.source = {"row_functions", {}}, .shape = {}};
  KernelSource& source = launch.source;
  source.set("ROWS", rows), source.set("COUNT", g.count), source.set("INNER", g.inner);
  source.set("FIND_MOST", s64{function.find_most});
  source.set("VALUE", function.value), source.set("NORM", function.norm);
  source.set("RESULT", function.result);
  launch.shape = {.blocks = ceil_div(rows * kLanes, kThreads),
                  .threads = static_cast<int>(kThreads),
                  .programmatic_dependent = true};
  Candidate candidate = candidate_of(request, function.kernel, Layout::linear);
  set_step(candidate, device_of(request),
           {.make_launch = [launch](const BindArgs&) { return launch; }}, [](const StepData& data) {
             return params::RowsParams{data.input(0), nullptr, nullptr, data.output()};
           });
  return candidate;
}

}  // namespace

Offer lower_log_softmax(const LowerRequest& request) {
  return offer(request, {.kernel = "log_softmax_f32",
                         .find_most = true,
                         .value = "math_exp(f32_sub(x, most))",
                         .norm = "math_log(sum)",
                         .result = "f32_sub(f32_sub(x, most), norm)"});
}

Offer lower_lp_norm(const LowerRequest& request) {
  const bool squares = request.node.attrs.i("p", 2) == 2;
  return offer(request, {.kernel = "lp_norm_f32",
                         .value = squares ? "f32_mul(x, x)" : "fabsf(x)",
                         .norm = squares ? "f32_sqrt(sum)" : "sum",
                         .result = "norm == 0.0f ? 0.0f : f32_div(x, norm)"});
}

}  // namespace octet::cuda
