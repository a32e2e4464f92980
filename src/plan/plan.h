// SPDX-License-Identifier: Apache-2.0
// Model x shapes x Target -> Plan: which kernel runs each node, in which layout, at which offset of the arena.
// A Plan is derived data: any machine that loads the Model can make it again.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/backend.h"
#include "plan/offer.h"

namespace octet {

inline constexpr u32 kNoBuffer = std::numeric_limits<u32>::max();

// One stored form of a value. A value that kernels want in two layouts has two buffers.
struct Buffer {
  enum class Kind : u8 { arena, input, output };
  ValueId value = kNoValue;
  Kind kind = Kind::arena;
  u32 index = 0;   // input, output: its position in graph.inputs or graph.outputs
  s64 bytes = 0;   // arena: including the border
  s64 offset = 0;  // arena: of the first byte; data starts `origin_bytes` later
  s64 origin_bytes = 0;
  u32 same_as = kNoBuffer;  // arena: the buffer whose memory this one is
  s64 groups =
      1;  // it holds one of so many groups of the batch's images, and each group overwrites it
  Placement placement;
};

struct PlanStep {
  std::string name;
  std::string kernel;
  std::string note;                  // what the inspector prints beside the kernel
  std::vector<std::string> rejects;  // why each other kernel was not taken: "name: reason"
  u32 node = std::numeric_limits<u32>::max();  // index into graph.nodes; max for layout conversions
  std::vector<u32> inputs;  // buffers, kNoBuffer for constants and omitted inputs
  std::vector<u32> outputs;
  std::vector<u32> overwrites;  // inputs whose memory outputs[0] may take, see Candidate
  s64 workspace_bytes = 0;
  // The batch goes through this step in so many groups of images, each group through all neighbouring steps with the same
  // number before the next; `run` runs one group.
  s64 groups = 1;
  f64 cost = 0;        // the candidate's estimate, 0 for none
  bool alone = false;  // runs on one thread: not worth sharing
  RunStep run;
  std::string
      choice;  // how the kernel was chosen among several: "by cost"; empty where there was one
  std::vector<Layout> given;  // the layouts in which producers left the inputs of a node
  // Where the target keeps other kernels: the chosen one, then those that could take its place; else empty.
  std::vector<Candidate> kernels;
};

struct Plan {
  Graph graph;  // concrete types; shape arithmetic folded away
  std::vector<Buffer> buffers;
  std::vector<PlanStep> steps;
  s64 arena_bytes = 0;  // activations, then the workspace that steps take in turn
  s64 workspace_offset = 0;
  std::vector<TensorType> input_types;
  std::vector<TensorType> output_types;
};

// What tuning knows a node by of which there are several kernels; empty for other steps.
std::string signature_of(const Plan& plan, const PlanStep& step);

// Pixel, row and image strides of an nhwc value with a border around each image; zeros for linear.
Placement dense_placement(const TensorType& type, Layout layout, s64 border);

// Throws Error(invalid_argument) for shapes that the graph does not take, naming the node where they fail, and NeedsData
// when a type inside depends on data: such a graph runs in stages (runtime/staged.h).
Plan make_plan(const Graph& graph, std::span<const Shape> input_shapes, const Backend& backend,
               const Target& target);

// The same, with the number of groups (PlanStep::groups) asked for each node instead of the cheapest; a node that cannot run in
// groups runs whole. For tests.
Plan make_plan_in_groups(const Graph& graph, std::span<const Shape> input_shapes,
                         const Backend& backend, const Target& target, std::vector<s64> groups);

// Throws Error(invalid_argument) naming the input whose shape the graph does not take.
void check_input_shapes(const Graph& graph, std::span<const Shape> shapes);

// The stages of make_plan.
Graph specialize(const Graph& graph, std::span<const Shape> input_shapes);  // specialize.cc
void relabel_s8(Graph& graph);                                              // relabel.cc
// border.cc: `run`, after writing the zero point around each image of its output.
RunStep with_border(const Plan& plan, const PlanStep& step, size_t output, RunStep run);
void plan_memory(Plan& plan);   // memory.cc: offsets, arena_bytes
void choose_alone(Plan& plan);  // sharing.cc: steps that threads do not share

}  // namespace octet
