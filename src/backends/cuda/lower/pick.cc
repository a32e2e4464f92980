// SPDX-License-Identifier: Apache-2.0
// Concat, Split, Slice, Gather, Expand, Tile, Pad, nearest Resize, DepthToSpace and SpaceToDepth: elements of any type and layout.
#include <algorithm>
#include <numeric>

#include "backends/cpu/lower/resize_request.h"
#include "backends/cuda/lower/move.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/channel_runs.h"
#include "ops/shared/pad.h"
#include "ops/shared/resize.h"
#include "ops/shared/space_depth.h"

namespace octet::cuda {
namespace {

// Tables of longer axes would be as large as the tensors.
constexpr s64 kMostIndices = 1 << 24;

Offer moves(const LowerRequest& request, const char* kernel, MoveStep step) {
  Candidate candidate = candidate_of(request, kernel, common_layout(request));
  set_moves(candidate, request, std::move(step));
  return candidate;
}

std::string move_reject(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (request.outputs[0].shape.elements() == 0) return "there is nothing to move";
  constexpr s64 kMostElements = s64{1} << 31;
  if (request.inputs[0].shape.elements() >= kMostElements) return "the input has 2^31 elements";
  return {};
}

// Neighbouring channels, which are moved where they do not lie already.
Offer runs_of_channels(const LowerRequest& request, const char* kernel, MoveStep step) {
  step.joins =
      common_layout(request) == Layout::nhwc && !channel_runs(request.graph, request.node).empty();
  const bool joins = step.joins;
  Offer offer = moves(request, kernel, std::move(step));
  Candidate& candidate = std::get<Candidate>(offer);
  candidate.joins_channels = candidate.writes_slices = joins;
  return offer;
}

bool read_ints(const LowerRequest& request, size_t i, std::vector<s64>& values) {
  return !request.has_input(i) || read_constant_ints(request, i, values);
}

}  // namespace

// Each part is a kernel that is compiled for it.
constexpr size_t kMostParts = 64;
constexpr const char* kManyParts = "it has more than 64 parts";

Offer lower_concat(const LowerRequest& request) {
  if (request.inputs.size() > kMostParts) return Reject{kManyParts};
  const Shape& output = request.outputs[0].shape;
  if (output.elements() == 0) return Reject{"there is nothing to move"};
  const int axis = normalize_axis(attribute_of<&AxisAttributes::axis>(request.node), output.rank());
  MoveStep step;
  s64 at = 0;
  bool brought = true;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    Move move = whole_move(request.inputs[i].shape);
    move.input = i;
    move.out_first = {axis, at};
    at += request.inputs[i].shape[axis];
    brought = brought && request.constant(i) == nullptr;
    step.moves.push_back(std::move(move));
  }
  step.joins = brought && output.rank() == 4 && axis == 1 && common_layout(request) == Layout::nhwc;
  const bool joins = step.joins;
  Offer offer = moves(request, joins ? "concat_channels" : "concat", std::move(step));
  Candidate& candidate = std::get<Candidate>(offer);
  candidate.joins_channels = candidate.writes_slices = joins;
  return offer;
}

Offer lower_split(const LowerRequest& request) {
  if (request.outputs.size() > kMostParts) return Reject{kManyParts};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const Shape& input = request.inputs[0].shape;
  const int axis = normalize_axis(attribute_of<&AxisAttributes::axis>(request.node), input.rank());
  MoveStep step;
  s64 at = 0;
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    if (request.node.outputs[i] == kNoValue) return Reject{"an output is omitted"};
    Move move = whole_move(request.outputs[i].shape);
    move.output = i;
    move.in_first = {axis, at};
    at += request.outputs[i].shape[axis];
    step.moves.push_back(std::move(move));
  }
  return runs_of_channels(request, "split", std::move(step));
}

Offer lower_slice(const LowerRequest& request) {
  if (std::string reason = move_reject(request); !reason.empty()) return Reject{reason};
  std::vector<s64> starts, axes, steps;
  if (!read_ints(request, 1, starts) || !read_ints(request, 3, axes) ||
      !read_ints(request, 4, steps))
    return Reject{"the starts, axes or steps are not constant"};
  const Shape &input = request.inputs[0].shape, &output = request.outputs[0].shape;
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), s64{0});
  }
  Move move = whole_move(output);
  std::vector<s64> begins(static_cast<size_t>(input.rank()), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis(axes[i], input.rank());
    const s64 dim = input[axis];
    // The output is not empty, so the clamped start is its first element.
    begins[static_cast<size_t>(axis)] =
        std::clamp<s64>(starts[i] < 0 ? starts[i] + dim : starts[i], 0, dim - 1);
    if (!steps.empty()) move.axes[static_cast<size_t>(axis)].in_step = steps[i];
  }
  move.begins = std::move(begins);
  return runs_of_channels(request, "slice", {.moves = {move}});
}

Offer lower_gather(const LowerRequest& request) {
  if (std::string reason = move_reject(request); !reason.empty()) return Reject{reason};
  std::vector<s64> indices;
  if (!request.has_input(1) || !read_constant_ints(request, 1, indices))
    return Reject{"the indices are not constant"};
  if (std::ssize(indices) > kMostIndices) return Reject{"there are more than 2^24 indices"};
  const Shape& input = request.inputs[0].shape;
  const int axis = normalize_axis(attribute_of<&AxisAttributes::axis>(request.node), input.rank());
  for (s64& index : indices) {
    if (index < -input[axis] || index >= input[axis])
      return Reject{"an index lies outside the axis"};
    index += index < 0 ? input[axis] : 0;
  }
  const int added = request.inputs[1].shape.rank() - 1;  // axes of the output for that one
  Move move;
  for (int d = 0; d < input.rank(); ++d)
    move.axes.push_back({.size = input[d], .in_axis = d, .out_axis = d <= axis ? d : d + added});
  if (added < 0) {
    move.axes.erase(move.axes.begin() + axis);
    move.in_first = {axis, indices[0]};
  } else {
    // The output is linear, so all indices are one axis: as far apart as the last of theirs.
    MoveAxis& along = move.axes[static_cast<size_t>(axis)];
    along.size = std::ssize(indices);
    along.out_axis = axis + added;
    along.indices = std::move(indices);
  }
  Candidate candidate = candidate_of(request, "gather", Layout::linear);
  candidate.inputs[0] = request.layouts[0];
  set_moves(candidate, request, {.moves = {move}});
  return candidate;
}

Offer lower_expand(const LowerRequest& request) {
  if (std::string reason = move_reject(request); !reason.empty()) return Reject{reason};
  const Shape &input = request.inputs[0].shape, &output = request.outputs[0].shape;
  Move move = whole_move(output);
  const int missing = output.rank() - input.rank();
  for (int d = 0; d < output.rank(); ++d) {
    const bool repeats = d < missing || input[d - missing] != output[d];
    move.axes[static_cast<size_t>(d)].in_axis = repeats ? -1 : d - missing;
  }
  return moves(request, "expand", {.moves = {move}});
}

Offer lower_tile(const LowerRequest& request) {
  if (std::string reason = move_reject(request); !reason.empty()) return Reject{reason};
  const Shape &input = request.inputs[0].shape, &output = request.outputs[0].shape;
  Move move;
  for (int d = 0; d < input.rank(); ++d) {
    move.axes.push_back({.size = output[d] / input[d], .out_axis = d, .out_step = input[d]});
    move.axes.push_back({.size = input[d], .in_axis = d, .out_axis = d});
  }
  return moves(request, "tile", {.moves = {move}});
}

Offer lower_pad(const LowerRequest& request) {
  if (std::string reason = move_reject(request); !reason.empty()) return Reject{reason};
  const Shape &input = request.inputs[0].shape, &output = request.outputs[0].shape;
  if (input.rank() == 0 || input.elements() == 0) return Reject{"the input is empty or a scalar"};
  if (std::ranges::any_of(output, [](s64 dim) { return dim > kMostIndices; }))
    return Reject{"an axis is longer than 2^24"};
  std::vector<s64> pads, axes;
  if (!read_ints(request, 1, pads) || !read_ints(request, 3, axes))
    return Reject{"the pads are not constant"};
  MoveStep step{.moves = {whole_move(output)}, .fill = 0};
  if (request.has_input(2) &&
      attribute_of<&PadAttributes::mode>(request.node) == PadMode::constant) {
    const Tensor* value = request.constant(2);
    if (value == nullptr) return Reject{"the value is not constant"};
    u64 bits = 0;
    std::memcpy(&bits, value->data(), std::min(value->bytes(), sizeof bits));
    step.fill = bits;
  }
  const AxisMaps maps = pad_maps({request.node, input, output, pads, axes, request.has_input(3)});
  for (int d = 0; d < output.rank(); ++d) {
    const std::vector<s64>& map = maps[static_cast<size_t>(d)];
    std::vector<s64> same(map.size());
    std::iota(same.begin(), same.end(), s64{0});
    if (map != same) step.moves[0].axes[static_cast<size_t>(d)].indices = map;
  }
  return moves(request, "pad", std::move(step));
}

Offer lower_resize(const LowerRequest& request) {
  if (std::string reason = move_reject(request); !reason.empty()) return Reject{reason};
  if (!resize_moves_elements(request.node)) return Reject{"the mode is not nearest"};
  ResizeGeometry geometry;
  if (std::string reason = read_resize(request, geometry); !reason.empty()) return Reject{reason};
  Move move = whole_move(request.outputs[0].shape);
  for (size_t d = 0; d < move.axes.size(); ++d) {
    const ResizeAxis& axis = geometry.axes[d];
    if (axis.out > kMostIndices) return Reject{"an axis is longer than 2^24"};
    if (!axis.identity) move.axes[d].indices = axis.index;
  }
  // Channels that stay are moved together.
  const bool image = move.axes.size() == 4 && geometry.axes[1].identity;
  Candidate candidate =
      candidate_of(request, "resize_nearest", image ? Layout::nhwc : common_layout(request));
  set_moves(candidate, request, {.moves = {move}});
  candidate.writes_slices = true;
  return candidate;
}

// The channel of the smaller image is (row in the block, column in it, channel), or with the channel first.
Offer lower_depth_to_space(const LowerRequest& request) {
  if (std::string reason = move_reject(request); !reason.empty()) return Reject{reason};
  const Shape &in = request.inputs[0].shape, &out = request.outputs[0].shape;
  const SpaceDepth depth = space_depth_of(request.node, in);
  const s64 b = depth.block, c = out[1];
  const s64 channel = depth.depth_first ? 1 : b * b, block = depth.depth_first ? c : 1;
  Move move;
  move.axes = {{.size = in[0], .in_axis = 0, .out_axis = 0},
               {.size = c, .in_axis = 1, .out_axis = 1, .in_step = channel},
               {.size = in[2], .in_axis = 2, .out_axis = 2, .out_step = b},
               {.size = b, .in_axis = 1, .out_axis = 2, .in_step = b * block},
               {.size = in[3], .in_axis = 3, .out_axis = 3, .out_step = b},
               {.size = b, .in_axis = 1, .out_axis = 3, .in_step = block}};
  return moves(request, "depth_to_space", {.moves = {move}});
}

Offer lower_space_to_depth(const LowerRequest& request) {
  if (std::string reason = move_reject(request); !reason.empty()) return Reject{reason};
  const Shape &in = request.inputs[0].shape, &out = request.outputs[0].shape;
  const SpaceDepth depth = space_depth_of(request.node, in);
  const s64 b = depth.block, c = in[1];
  const s64 channel = depth.depth_first ? 1 : b * b, block = depth.depth_first ? c : 1;
  Move move;
  move.axes = {{.size = in[0], .in_axis = 0, .out_axis = 0},
               {.size = c, .in_axis = 1, .out_axis = 1, .out_step = channel},
               {.size = out[2], .in_axis = 2, .out_axis = 2, .in_step = b},
               {.size = b, .in_axis = 2, .out_axis = 1, .out_step = b * block},
               {.size = out[3], .in_axis = 3, .out_axis = 3, .in_step = b},
               {.size = b, .in_axis = 3, .out_axis = 1, .out_step = block}};
  return moves(request, "space_to_depth", {.moves = {move}});
}

}  // namespace octet::cuda
