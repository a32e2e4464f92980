// SPDX-License-Identifier: Apache-2.0
// Reshape and its relatives, and Transpose, of elements of any type.
#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "ops/shared/permutation.h"
#include "plan/format.h"

namespace octet {
namespace {

// Copies all bytes as they lie.
std::function<RunStep(const BindArgs&)> copy_bytes(const TensorType& type) {
  const s64 bytes = type.bytes();
  return [bytes](const BindArgs&) -> RunStep {
    return [bytes](const StepArgs& args) {
      if (args.inputs[0] == args.outputs[0]) return;
      pool_of(args).parallel_for((bytes + 4095) / 4096, [&](s64 begin, s64 end, int) {
        const s64 first = begin * 4096, last = std::min(end * 4096, bytes);
        std::memcpy(args.outputs[0] + first, args.inputs[0] + first,
                    static_cast<size_t>(last - first));
      });
    };
  };
}

// Elements keep their order, so images that stay as many stay where they are.
bool same_images(const LowerRequest& request) {
  const Shape& from = request.inputs[0].shape;
  const Shape& to = request.outputs[0].shape;
  return from.rank() > 0 && to.rank() > 0 && from[0] == to[0];
}

}  // namespace

Offer lower_q_reshape(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  Candidate candidate = candidate_of(request, "reshape", Layout::linear);
  if (has_one_pixel(request.inputs[0].shape)) candidate.inputs[0] = request.layouts[0];
  candidate.same_bytes = true;
  candidate.by_image = same_images(request);
  candidate.bind = copy_bytes(request.inputs[0]);
  return candidate;
}

Offer lower_q_transpose(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const std::vector<int> perm = permutation_of(request.node, request.inputs[0].shape.rank());
  Candidate candidate = candidate_of(request, "transpose", Layout::linear);
  candidate.by_image = !perm.empty() && perm[0] == 0;
  const bool to_last = perm == std::vector<int>{0, 2, 3, 1};
  const bool to_first = perm == std::vector<int>{0, 3, 1, 2};
  if (to_first || (to_last && request.layouts[0] == Layout::nhwc)) {
    // N,H,W,C in row-major order is the nhwc layout of N,C,H,W.
    candidate.kernel = "transpose_by_layout";
    if (to_first) candidate.outputs[0] = Layout::nhwc;
    if (to_last) candidate.inputs[0] = Layout::nhwc;
    candidate.same_bytes = true;
    candidate.bind = copy_bytes(request.inputs[0]);
    return candidate;
  }
  candidate.bind = [type = request.inputs[0], perm,
                    isa = isa_of(request.target)](const BindArgs&) -> RunStep {
    auto step =
        std::make_shared<const Transposition>(type.shape, perm, dtype_bytes(type.dtype), isa);
    return
        [step](const StepArgs& args) { step->run(args.inputs[0], args.outputs[0], pool_of(args)); };
  };
  return candidate;
}

}  // namespace octet
