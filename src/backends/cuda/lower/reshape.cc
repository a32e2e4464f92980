// SPDX-License-Identifier: Apache-2.0
// Reshape and its relatives, which move nothing, and Transpose, which often does not.
#include "backends/cuda/lower/move.h"
#include "ops/shared/permutation.h"
#include "plan/format.h"

namespace octet::cuda {
namespace {

// The planner lets both be one buffer where it can.
Candidate same_bytes(const LowerRequest& request, std::string kernel) {
  Candidate candidate = candidate_of(request, std::move(kernel), Layout::linear);
  candidate.same_bytes = true;
  candidate.bind = [bytes = request.inputs[0].bytes()](const BindArgs&) -> RunStep {
    return [bytes](const StepArgs& args) {
      if (args.inputs[0] != args.outputs[0])
        args.queue.copy(args.outputs[0], args.inputs[0], bytes);
    };
  };
  return candidate;
}

}  // namespace

Offer lower_reshape(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  Candidate candidate = same_bytes(request, "reshape");
  if (has_one_pixel(request.inputs[0].shape)) candidate.inputs[0] = request.layouts[0];
  return candidate;
}

Offer lower_transpose(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const std::vector<int> perm = permutation_of(request.node, request.inputs[0].shape.rank());
  const bool to_last = perm == std::vector<int>{0, 2, 3, 1};
  const bool to_first = perm == std::vector<int>{0, 3, 1, 2};
  if (to_first || (to_last && request.layouts[0] == Layout::nhwc)) {
    // N,H,W,C in row-major order is the nhwc layout of N,C,H,W.
    Candidate candidate = same_bytes(request, "transpose_by_layout");
    if (to_first) candidate.outputs[0] = Layout::nhwc;
    if (to_last) candidate.inputs[0] = Layout::nhwc;
    return candidate;
  }
  if (request.outputs[0].shape.elements() == 0) return Reject{"there is nothing to move"};
  Move move;
  for (int d = 0; d < static_cast<int>(perm.size()); ++d) {
    move.axes.push_back({.size = request.outputs[0].shape[d],
                         .in_axis = perm[static_cast<size_t>(d)],
                         .out_axis = d});
  }
  Candidate candidate = candidate_of(request, "transpose", Layout::linear);
  candidate.inputs[0] = request.layouts[0];
  set_moves(candidate, request, {.moves = {move}});
  return candidate;
}

}  // namespace octet::cuda
