// SPDX-License-Identifier: Apache-2.0
// The rounding to a 16-bit float that a kernel does to its own result: a plan for a CPU gives the RoundTo behind a node to the node itself, where
// its kernels know how (docs/halves.md). The bits are those of the two steps.
#pragma once

#include <string>
#include <string_view>

#include "arch/isa.h"
#include "backends/cpu/kernels/float/unary.h"
#include "core/types.h"
#include "graph/graph.h"
#include "plan/offer.h"
#include "plan/own_attributes.h"

namespace octet {

// As the plan says (kRounds). none: its result is rounded to nothing.
Precision rounding_of(const Node& node);

// As the arguments of kernels have it: 0 none, 1 f16, 2 bf16.
int rounding_code(const Node& node);

// The function that rounds, for elements that lie one behind the other; null: none.
UnaryFunction rounding_function(const Node& node, Isa isa);

// `count` elements in place. Does nothing where there is no function.
void round_in_place(UnaryFunction function, f32* values, s64 count) noexcept;

// Elements of a piece that is rounded after its function: it still lies in the first cache.
inline constexpr s64 kRoundedPiece = 1024;

// "rounds to f16", for the inspector; empty where nothing is rounded.
std::string rounding_note(const Node& node);

// Of the operator, whether kernels round its result; others leave RoundTo a step of its own.
bool has_rounding_kernels(std::string_view op);

// RoundTo nodes go into the nodes that alone they follow.
void join_roundings(Graph& graph);

// RoundTo nodes of images that only kernels of pixels read get kGivesPixels (f_round_image.cc).
void mark_pixels(Graph& graph);

// The definition, rounded as the node asks.
Candidate rounding_reference(const LowerRequest& request);

}  // namespace octet
