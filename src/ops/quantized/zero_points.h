// SPDX-License-Identifier: Apache-2.0
// What a node of CodeMeaning::attributes says of its codes. This file alone knows the attributes: input_zero_points, with a
// slot for each input; output_zero_point with lo, hi and output_dtype; and sum_* of the stage after that. They are what
// computes; Value::quant repeats them for readers and is held to them (docs/adr/0015).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/rounding.h"
#include "graph/op_traits.h"

namespace octet {

// What is added to an s8 code to make the u8 code of the same real value, and to its zero point.
inline constexpr s32 kS8ToU8 = 128;

// The zero point of the codes at an input; 0 where the node says nothing.
s32 input_zero_point(const Node& node, size_t input);
// All that the node says, by input. Throws Error(invalid_model) for one that no code type has.
std::vector<s32> input_zero_points(const Node& node);
void set_input_zero_point(Node& node, size_t input, s32 zero_point);
void set_input_zero_points(Node& node, std::span<const s32> zero_points);

// The codes that the node makes, before a table and before a sum; those after the sum.
void set_output_codes(Node& node, Dtype dtype, const CodeRange& range);
void set_sum_codes(Node& node, Dtype dtype, const CodeRange& range);
// The zero point of the codes that leave the node; nothing where a table of 256 makes them, or the result is real.
std::optional<s32> output_zero_point(const Node& node);

// The node reads s8 codes of input i as u8, or writes its s8 codes as u8, with the same real values.
void read_as_u8(Node& node, size_t input);
void write_as_u8(Graph& graph, Node& node);
// The same for the codes before a table of 256, or before a sum.
void own_codes_as_u8(Graph& graph, Node& node);
// The product's table is of segments, for finer codes (docs/numerics.md section 5).
bool has_fine_table(const Node& node);
// s8 codes, or a table of them, as u8.
Tensor codes_as_u8(const Tensor& codes);

// A model may quantize with one zero point and dequantize with another. The node then computes with the one that it reads
// with, and the value is left without parameters, for nobody could say what its codes mean.
void forget_contradicted(Graph& graph, const Node& node);
// OpTraits::verify: throws Error(invalid_model) where the parameters of an input or of the result are not the node's.
void verify_zero_points(const Graph& graph, const Node& node);

}  // namespace octet
