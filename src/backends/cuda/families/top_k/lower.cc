// SPDX-License-Identifier: Apache-2.0
// TopK of reals.
#include <algorithm>
#include <bit>

#include "backends/cuda/families/top_k/spec.h"
#include "backends/cuda/lower/step.h"
#include "ops/attributes/reduction.h"
#include "ops/shared/axes.h"

namespace octet::cuda {

Offer lower_top_k(const LowerRequest& request) {
  constexpr s64 kMostSorted = 2048, kMostCount = 1 << 18, kLeastThreads = 32;
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const std::vector<ValueId>& results = request.node.outputs;
  const auto is_read = [&](size_t i) { return i < results.size() && results[i] != kNoValue; };
  if (!is_read(0) && !is_read(1)) return Reject{"nobody reads it"};
  const Shape &x = request.inputs[0].shape, &y = request.outputs[is_read(0) ? 0 : 1].shape;
  if (y.elements() == 0) return Reject{"there is nothing to compute"};
  const int axis = normalize_axis(attribute_of<&TopKAttributes::axis>(request.node), x.rank());
  const s64 count = x[axis], k = y[axis];
  if (count > kMostCount) return Reject{"a row has more than 2^18 elements"};
  const s64 whole = static_cast<s64>(std::bit_ceil(static_cast<u64>(count)));
  const s64 size = std::clamp(whole, 2 * kLeastThreads, kMostSorted);
  if (count > size && k > size / 2) return Reject{"more than 1024 are taken"};
  const top_k::Spec spec{.count = field_of(count),
                         .inner = dims_product(x, axis + 1, x.rank()),
                         .k = field_of(k),
                         .largest = attribute_of<&TopKAttributes::largest>(request.node),
                         .size = field_of(size)};
  const Launch launch{.source = source_of("top_k", spec),
                      .shape = {.blocks = x.elements() / count,
                                .threads = top_k::threads(spec),
                                .programmatic_dependent = true}};
  Candidate candidate = candidate_of(request, "top_k", Layout::linear);
  set_step(candidate, device_of(request),
           {.make_launch = [launch](const BindArgs&) { return launch; }},
           [values = is_read(0), places = is_read(1)](const StepData& data) {
             return top_k::Params{reinterpret_cast<const f32*>(data.input(0)),
                                  values ? reinterpret_cast<f32*>(data.output(0)) : nullptr,
                                  places ? reinterpret_cast<s64*>(data.output(1)) : nullptr};
           });
  return candidate;
}

}  // namespace octet::cuda
