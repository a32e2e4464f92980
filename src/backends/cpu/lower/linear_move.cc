// SPDX-License-Identifier: Apache-2.0
// Concat, Split, Slice, Gather, Expand and Tile of linear tensors of any rank and type: boxes copied with strides. Images in nhwc have
// their own, better lowerings, which are asked first.
#include <algorithm>
#include <numeric>

#include "backends/cpu/kernels/codes/move/strided_move.h"
#include "backends/host/queue.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"
#include "plan/offer.h"

namespace octet {
namespace {

// One box: from an input (or a constant in its place) to an output.
struct Move {
  size_t input, output;
  StridedMove box;
};

struct MoveStep {
  std::vector<Tensor> constants;  // of each input; empty where a run brings it
  std::vector<Move> moves;

  void operator()(const StepArgs& step) const noexcept {
    for (const Move& move : moves) {
      const Tensor& constant = constants[move.input];
      const std::byte* src = constant ? constant.data() : step.inputs[move.input];
      move.box.run(src, step.outputs[move.output], pool_of(step));
    }
  }
};

Candidate move_candidate(const LowerRequest& request, const char* kernel, std::vector<Move> moves) {
  MoveStep step{{}, std::move(moves)};
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Tensor* constant = request.constant(i);
    step.constants.push_back(constant != nullptr ? *constant : Tensor());
  }
  Candidate candidate;
  candidate.kernel = kernel;
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs.assign(request.outputs.size(), Layout::linear);
  candidate.holds = request.constants();
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

size_t element_bytes(const LowerRequest& request) { return dtype_bytes(request.inputs[0].dtype); }

bool has_bound_ints(const LowerRequest& request, size_t i) {
  if (!request.has_input(i)) return true;
  const Tensor* constant = request.constant(i);
  return constant != nullptr &&
         (constant->dtype() == Dtype::s64 || constant->dtype() == Dtype::s32);
}

std::vector<s64> bound_ints(const LowerRequest& request, size_t i) {
  if (!request.has_input(i)) return {};
  const Tensor& constant = *request.constant(i);
  if (constant.dtype() == Dtype::s64) {
    const auto values = constant.as<s64>();
    return {values.begin(), values.end()};
  }
  const auto values = constant.as<s32>();
  return {values.begin(), values.end()};
}

}  // namespace

Offer lower_linear_concat(const LowerRequest& request) {
  const Shape& output = request.outputs[0].shape;
  const int axis = axis_of(request.node, output.rank());
  const std::vector<s64> dst = dense_strides(output);
  std::vector<Move> moves;
  s64 at = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Shape& shape = request.inputs[i].shape;
    const std::vector<s64> src = dense_strides(shape);
    const StridedBox box{shape, src, dst, 0, at * dst[static_cast<size_t>(axis)]};
    moves.push_back({i, 0, StridedMove(box, element_bytes(request))});
    at += shape[axis];
  }
  Candidate candidate = move_candidate(request, "concat", std::move(moves));
  bool brought = true;  // a constant has the whole batch
  for (size_t i = 0; i < request.inputs.size(); ++i)
    brought = brought && request.constant(i) == nullptr;
  candidate.by_image = axis != 0 && brought;
  return candidate;
}

Offer lower_linear_split(const LowerRequest& request) {
  const Shape& input = request.inputs[0].shape;
  const int axis = axis_of(request.node, input.rank());
  const std::vector<s64> src = dense_strides(input);
  std::vector<Move> moves;
  s64 at = 0;
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    if (request.node.outputs[i] == kNoValue) return Reject{"an output is omitted"};
    const Shape& shape = request.outputs[i].shape;
    const std::vector<s64> dst = dense_strides(shape);
    const StridedBox box{shape, src, dst, at * src[static_cast<size_t>(axis)], 0};
    moves.push_back({0, i, StridedMove(box, element_bytes(request))});
    at += shape[axis];
  }
  Candidate candidate = move_candidate(request, "split", std::move(moves));
  candidate.by_image = axis != 0 && request.constant(0) == nullptr;
  return candidate;
}

Offer lower_linear_slice(const LowerRequest& request) {
  for (const size_t i : {size_t{1}, size_t{3}, size_t{4}}) {
    if (!has_bound_ints(request, i)) return Reject{"the starts, axes or steps are not constant"};
  }
  const Shape& input = request.inputs[0].shape;
  const Shape& output = request.outputs[0].shape;
  if (output.elements() == 0) return Reject{"the result is empty"};
  const std::vector<s64> starts = bound_ints(request, 1);
  std::vector<s64> axes = bound_ints(request, 3), steps = bound_ints(request, 4);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), s64{0});
  }
  std::vector<s64> src = dense_strides(input);
  s64 offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis(axes[i], input.rank());
    s64& stride = src[static_cast<size_t>(axis)];
    const s64 dim = input[axis];
    // The output is not empty, so the clamped start is its first element.
    const s64 start = std::clamp<s64>(starts[i] < 0 ? starts[i] + dim : starts[i], 0, dim - 1);
    offset += start * stride;
    // A single element may come with a step that overflows.
    stride = output[axis] == 1 || steps.empty() ? stride : stride * steps[i];
  }
  const std::vector<s64> dst = dense_strides(output);
  const StridedMove box({output, src, dst, offset, 0}, element_bytes(request));
  return move_candidate(request, "slice", {{0, 0, box}});
}

Offer lower_linear_gather(const LowerRequest& request) {
  constexpr size_t kMaxIndices = 256;
  if (request.has_input(1) && request.constant(1) == nullptr)
    return Reject{"the indices are not constant"};
  if (!has_bound_ints(request, 1)) return Reject{"the indices are not integers"};
  const std::vector<s64> indices = bound_ints(request, 1);
  if (indices.size() > kMaxIndices) return Reject{"there are more than 256 indices"};
  const Shape& input = request.inputs[0].shape;
  const int axis = axis_of(request.node, input.rank());
  const s64 inner = dims_product(input, axis + 1, input.rank()), dim = input[axis];
  const auto count = static_cast<s64>(indices.size());
  const Shape shape{dims_product(input, 0, axis), inner};
  const s64 src[] = {dim * inner, 1}, dst[] = {count * inner, 1};
  std::vector<Move> moves;
  for (s64 i = 0; i < count; ++i) {
    const s64 index = indices[static_cast<size_t>(i)];
    if (index < -dim || index >= dim) return Reject{"an index lies outside the axis"};
    const s64 from = index < 0 ? index + dim : index;
    moves.push_back(
        {0, 0, StridedMove({shape, src, dst, from * inner, i * inner}, element_bytes(request))});
  }
  return move_candidate(request, "gather", std::move(moves));
}

Offer lower_linear_expand(const LowerRequest& request) {
  const Shape& input = request.inputs[0].shape;
  const Shape& output = request.outputs[0].shape;
  const std::vector<s64> own = dense_strides(input), dst = dense_strides(output);
  std::vector<s64> src(dst.size(), 0);
  const auto missing = static_cast<size_t>(output.rank() - input.rank());
  for (int i = 0; i < input.rank(); ++i) {
    if (input[i] != 1) src[static_cast<size_t>(i) + missing] = own[static_cast<size_t>(i)];
  }
  return move_candidate(request, "expand",
                        {{0, 0, StridedMove({output, src, dst, 0, 0}, element_bytes(request))}});
}

// Each axis that is repeated is two of the result: its repeats, which step by nothing, and its elements.
Offer lower_linear_tile(const LowerRequest& request) {
  const Shape& input = request.inputs[0].shape;
  const Shape& output = request.outputs[0].shape;
  if (output.elements() == 0) return Reject{"the result is empty"};
  const std::vector<s64> own = dense_strides(input), whole = dense_strides(output);
  std::vector<s64> dims, src, dst;
  for (int i = 0; i < input.rank(); ++i) {
    const auto axis = static_cast<size_t>(i);
    const s64 repeats = output[i] / input[i];
    if (repeats > 1) {
      dims.push_back(repeats);
      src.push_back(0);
      dst.push_back(whole[axis] * input[i]);
    }
    if (input[i] > 1 || repeats == 1) {
      dims.push_back(input[i]);
      src.push_back(own[axis]);
      dst.push_back(whole[axis]);
    }
  }
  if (dims.size() > Shape::kMaxRank) return Reject{"too many axes are repeated"};
  const StridedBox box{Shape(dims), src, dst, 0, 0};
  return move_candidate(request, "tile", {{0, 0, StridedMove(box, element_bytes(request))}});
}

}  // namespace octet
