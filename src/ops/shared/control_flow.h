// SPDX-License-Identifier: Apache-2.0
// What If, Loop and Scan share. A body takes everything that it reads as an input: importing appends the outer values
// ("captures") to the inputs of the node and of its body, constants included.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "graph/op_traits.h"

namespace octet {

// Completes an operator that runs the graphs in the attributes of these names; it has as many outputs as they give.
template <const auto& kBodies>
inline constexpr OpTraits kBodyTraits{.bodies = kBodies};
template <const auto& kBodies>
constexpr OpDef runs_bodies(OpDef op) {
  op.outputs = {1, -1};
  op.traits = &kBodyTraits<kBodies>;
  return op;
}

// The body, with its numbers of inputs and outputs checked (outputs -1: any).
const Graph& checked_body(const Node& node, std::string_view name, size_t inputs, s64 outputs);

// Output types of a body. `known` may be empty tensors, or shorter than `types`.
std::vector<TensorType> infer_body(const Graph& body, std::span<const TensorType> types,
                                   std::span<const Tensor> known, s64 sample);

// The first input of the node that is a capture: from there on its inputs and those of its bodies pair off.
size_t first_capture(const Node& node);
// Types of a body's inputs, from those of the node's inputs and outputs. What a loop changes is as dynamic as the result.
std::vector<TensorType> types_inside(const Node& node, std::span<const TensorType> inputs,
                                     std::span<const TensorType> outputs);

// Known values of the node's inputs from `first` on.
std::vector<Tensor> known_inputs(const Inference& inference, size_t first);

// The type of one slice along an axis; an unknown shape stays so.
TensorType without_axis(const TensorType& type, s64 axis);

// A type for what may be either: dimensions that differ are dynamic, ranks or element types that differ unknown.
TensorType either_type(const TensorType& a, const TensorType& b);

// The input as a tensor that shares its memory; valid during the evaluation only.
Tensor borrowed_input(const Eval& eval, size_t i);
// Runs a body. Its results may share memory with its inputs.
std::vector<Tensor> run_body(const Graph& body, std::span<const Tensor> inputs, s64 max_bytes);
// Makes `result` output i: copied into the caller's memory, or handed over where the size was not known (eval_node
// infers nothing for nodes with bodies).
void give(const Eval& eval, size_t i, const Tensor& result);

// Elements `index` along an axis, without it.
Tensor slice_at(const Tensor& tensor, int axis, s64 index);
// Tensors of one type side by side along a new axis; `empty` is the type of one when there are none.
Tensor stack(std::span<const Tensor> parts, int axis, const TensorType& empty, s64 max_bytes);

// The one element of a bool tensor.
bool condition_of(const Tensor& tensor);

}  // namespace octet
