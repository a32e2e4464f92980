// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/move.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "backends/cuda/families/copies/lower.h"

namespace octet::cuda {
namespace {

struct Ends {
  std::vector<TensorType> inputs, outputs;
};

bool is_mapped(const Move& move) {
  return std::ranges::any_of(move.axes, [](const MoveAxis& axis) { return !axis.indices.empty(); });
}

s64 element_bytes(const TensorType& type) { return static_cast<s64>(dtype_bytes(type.dtype)); }

WalkOperand operand_of(const TensorType& type, s64 offset) {
  const s64 bytes = element_bytes(type);
  return {.type = element_of_bytes(bytes), .bytes = bytes, .offset = offset};
}

Walk walk_of(const MoveStep& step, const Ends& ends, const Move& move, const BindArgs& bind) {
  const TensorType &in = ends.inputs[move.input], &out = ends.outputs[move.output];
  const bool constant = static_cast<bool>(step.constants[move.input]);
  const std::vector<s64> from =
      strides_of(in.shape, constant ? Placement{} : bind.inputs[move.input]);
  const std::vector<s64> to = strides_of(out.shape, bind.outputs[move.output]);
  const auto along = [](const std::vector<s64>& strides, int axis) {
    return axis < 0 || strides.empty() ? 0 : strides[static_cast<size_t>(axis)];
  };
  Walk walk{.sizes = {}, .operands = {}};
  WalkOperand target = operand_of(out, bind.output_offset(move.output));
  WalkOperand source = operand_of(in, constant ? 0 : bind.input_offset(move.input));
  target.first = move.out_first.second * along(to, move.out_first.first);
  source.first = move.in_first.second * along(from, move.in_first.first);
  for (size_t d = 0; d < move.begins.size(); ++d) source.first += move.begins[d] * from[d];
  for (const MoveAxis& axis : move.axes) {
    const s64 stride = along(from, axis.in_axis);
    if (!axis.indices.empty()) {
      WalkMap map{.axis = walk.sizes.size(), .offsets = axis.indices};
      for (s64& at : map.offsets) at = at < 0 ? at : at * stride;
      walk.maps.push_back(std::move(map));
    }
    walk.sizes.push_back(axis.size);
    target.strides.push_back(along(to, axis.out_axis) * axis.out_step);
    // One element may come with a step that overflows.
    source.strides.push_back(axis.size == 1 || !axis.indices.empty() ? 0 : stride * axis.in_step);
  }
  if (is_mapped(move)) walk.fill = step.fill;
  walk.operands = {std::move(target), std::move(source)};
  return walk;
}

// The planner has put one of both where it belongs in the other: their pixels are as far apart.
// Where no offsets are given each value has memory of its own.
bool lies_there(const Ends& ends, const Move& move, const BindArgs& bind) {
  const Placement &from = bind.inputs[move.input], &to = bind.outputs[move.output];
  const s64 bytes = element_bytes(ends.inputs[move.input]);
  const s64 begin = move.begins.empty() ? move.in_first.second : move.begins[1];
  return !bind.input_offsets.empty() && !bind.output_offsets.empty() && from == to &&
         bind.input_offset(move.input) + begin * bytes ==
             bind.output_offset(move.output) + move.out_first.second * bytes;
}

// Moves of one launch.
struct Group {
  std::vector<size_t> moves;
  std::vector<UnitCopy> copies;  // of each where there are several
};

// Copies of one access go together; a move that is no such copy, or alone, has a kernel of its own.
std::vector<Group> groups_of(const MoveStep& step, const Ends& ends, const BindArgs& bind) {
  std::vector<Group> groups;
  for (size_t i = 0; i < step.moves.size(); ++i) {
    const Move& move = step.moves[i];
    if (step.joins && lies_there(ends, move, bind)) continue;
    const std::optional<UnitCopy> copy = unit_copy(walk_of(step, ends, move, bind));
    const auto group = std::ranges::find_if(groups, [&](const Group& g) {
      return copy && !g.copies.empty() && g.copies[0].access == copy->access &&
             std::ssize(g.copies) < copies::kMostCopies;
    });
    Group& mine = group == groups.end() ? groups.emplace_back() : *group;
    mine.moves.push_back(i);
    if (copy) mine.copies.push_back(*copy);
  }
  return groups;
}

std::vector<Launch> launches_of(const CudaDevice& device, const MoveStep& step, const Ends& ends,
                                const BindArgs& bind) {
  std::vector<Launch> launches;
  for (const Group& group : groups_of(step, ends, bind)) {
    const Move& first = step.moves[group.moves[0]];
    const size_t part = launches.size();
    launches.push_back(group.moves.size() == 1
                           ? walk_launch(device, walk_of(step, ends, first, bind))
                           : copies_launch(device, group.copies));
    launches.back().part = part;
  }
  return launches;
}

std::vector<BlobRecipe> blobs_of(const MoveStep& step, const Ends& ends, const BindArgs& bind) {
  std::vector<BlobRecipe> blobs;
  for (const Tensor& constant : step.constants) {
    if (constant) blobs.push_back(constant_blob(constant));
  }
  for (const Move& move : step.moves) {
    if (!is_mapped(move)) continue;
    blobs.push_back({"", {}, [table = walk_tables(walk_of(step, ends, move, bind))] {
                       return bytes_of<s32>(table);
                     }});
  }
  return blobs;
}

const void* source_of(const MoveStep& step, const StepData& data, const Move& move) {
  size_t blob = 0;
  for (size_t i = 0; i < move.input; ++i) blob += step.constants[i] ? 1u : 0u;
  return step.constants[move.input] ? data.blob<u8>(blob) : data.input(move.input);
}

const s32* maps_of(const MoveStep& step, const StepData& data, size_t number) {
  if (!is_mapped(step.moves[number])) return nullptr;
  size_t blob = 0;
  for (const Tensor& constant : step.constants) blob += constant ? 1u : 0u;
  for (size_t i = 0; i < number; ++i) blob += is_mapped(step.moves[i]) ? 1u : 0u;
  return data.blob<s32>(blob);
}

using Parameters = std::variant<WalkParams, copies::Params>;

Parameters parameters(const MoveStep& step, const StepData& data, const Group& group) {
  if (group.moves.size() == 1) {
    const Move& move = step.moves[group.moves[0]];
    return move_params(source_of(step, data, move), data.output(move.output),
                       maps_of(step, data, group.moves[0]));
  }
  copies::Params p{};
  for (size_t i = 0; i < group.moves.size(); ++i) {
    const Move& move = step.moves[group.moves[i]];
    p.x[i] = source_of(step, data, move);
    p.y[i] = data.output(move.output);
  }
  return p;
}

}  // namespace

WalkParams move_params(const void* in, void* out, const s32* maps) {
  WalkParams p{};
  p.a = in;
  p.maps = maps;
  p.out = out;
  return p;
}

Move whole_move(const Shape& shape) {
  Move move;
  for (int d = 0; d < shape.rank(); ++d)
    move.axes.push_back({.size = shape[d], .in_axis = d, .out_axis = d});
  return move;
}

void set_moves(Candidate& candidate, const LowerRequest& request, MoveStep step) {
  const CudaDevice& device = device_of(request);
  const Ends ends{request.inputs, request.outputs};
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const bool read = std::ranges::any_of(step.moves, [&](const Move& m) { return m.input == i; });
    const Tensor* constant = read ? request.constant(i) : nullptr;
    step.constants.push_back(constant != nullptr ? *constant : Tensor());
  }
  std::erase_if(step.moves, [](const Move& move) {
    return std::ranges::any_of(move.axes, [](const MoveAxis& axis) { return axis.size == 0; });
  });
  candidate.strided = true;
  set_launches(
      candidate, device,
      {.make_launches = [&device, step, ends](
                            const BindArgs& bind) { return launches_of(device, step, ends, bind); },
       .recipes = [step, ends](const BindArgs& bind) { return blobs_of(step, ends, bind); }},
      [step, ends](const BindArgs& bind) {
        return [step, groups = groups_of(step, ends, bind)](const StepData& data, size_t part) {
          return parameters(step, data, groups[part]);
        };
      });
}

Walk copy_walk(const TensorType& type, const BindArgs& bind) {
  MoveStep step{.moves = {whole_move(type.shape)}, .constants = {Tensor()}};
  return walk_of(step, {{type}, {type}}, step.moves[0], bind);
}

}  // namespace octet::cuda
