// SPDX-License-Identifier: Apache-2.0
// Steps that only move elements: where each lies follows from each axis alone.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/lower/walk.h"

namespace octet::cuda {

// Indices 0, 1, ... of it are `in_step` apart along an axis of the input (none: repeated), and so in the output.
struct MoveAxis {
  s64 size = 1;
  int in_axis = -1;
  int out_axis = 0;
  s64 in_step = 1;
  s64 out_step = 1;
  std::vector<s64> indices{};  // of the input's axis, in place of in_step; -1: filled
};

struct Move {
  size_t input = 0, output = 0;  // of the node
  std::vector<MoveAxis> axes;
  // Where it begins: an index of one axis; `begins` in the input: one of each.
  std::pair<int, s64> in_first{0, 0}, out_first{0, 0};
  std::vector<s64> begins{};
};

struct MoveStep {
  std::vector<Move> moves;
  std::vector<Tensor> constants{};  // of each input; empty where a run brings it
  std::optional<u64> fill{};
  bool joins = false;  // runs of channels: moves that find their result in place are left out
};

// All axes as they are.
Move whole_move(const Shape& shape);
// Sets prepare and bind.
void set_moves(Candidate& candidate, const LowerRequest& request, MoveStep step);
Walk copy_walk(const TensorType& type, const BindArgs& bind);
WalkParams move_params(const void* in, void* out, const s32* maps = nullptr);

}  // namespace octet::cuda
