// SPDX-License-Identifier: Apache-2.0
// Model x shapes x Target -> Plan: which kernel of which device runs each node, in which layout, at which offset of an arena.
// A Plan is derived data: any machine that loads the Model can make it again.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octet/tuning.h"
#include "plan/backend.h"
#include "plan/device.h"
#include "plan/format.h"
#include "plan/offer.h"

namespace octet {

inline constexpr u32 kNoBuffer = std::numeric_limits<u32>::max();
inline constexpr u32 kNoStep = std::numeric_limits<u32>::max();
// Of Plan::devices; a device's memory is the space of the same number.
inline constexpr u32 kHost = 0;

// One stored form of a value. A value that kernels want in two layouts, or in the memory of two devices, has two buffers.
struct Buffer {
  // constant: of the graph, copied into the space when the plan is bound.
  enum class Kind : u8 { arena, input, output, constant };
  ValueId value = kNoValue;
  Kind kind = Kind::arena;
  u32 space = kHost;  // whose memory it lies in
  u32 index = 0;      // input, output: its position in graph.inputs or graph.outputs
  s64 bytes = 0;      // arena: including the border
  s64 offset = 0;     // arena: of the first byte; data starts `origin_bytes` later
  s64 origin_bytes = 0;
  u32 same_as = kNoBuffer;  // arena: the buffer whose memory this one is
  s64 groups =
      1;  // it holds one of so many groups of the batch's images, and each group overwrites it
  bool sliced =
      false;  // every thread has one of its own: `offset` counts from the thread's slice of the arena
  Placement placement;

  bool is_of_caller() const { return kind == Kind::input || kind == Kind::output; }
};

// How a step goes through the batch: in so many groups of images, each group through all neighbouring steps with the same
// share before the next. `by_thread`: a thread of the host takes whole groups, alone, while the others take theirs; they meet at
// the end of the last of these steps.
struct BatchShare {
  s64 groups = 1;
  bool by_thread = false;
  bool operator==(const BatchShare&) const = default;
};

// How far threads share a step: short ones less, since each call for a part of the work costs something.
enum class Sharing : u8 {
  alone,   // one thread runs it
  pieces,  // each thread runs its piece
  chunks,  // who is done takes from what others have left
};

struct PlanStep {
  std::string name;
  std::string kernel = {};
  std::string note = {};                  // what the inspector prints beside the kernel
  std::vector<std::string> rejects = {};  // why each other kernel was not taken: "name: reason"
  u32 node = std::numeric_limits<u32>::max();  // index into graph.nodes; max for layout conversions
  std::vector<u32> inputs =
      {};  // buffers, kNoBuffer for omitted inputs and constants that the kernel holds
  std::vector<u32> outputs = {};
  std::vector<u32> overwrites = {};  // inputs whose memory outputs[0] may take, see Candidate
  u32 device = kHost;                // whose queue runs it
  u32 after =
      kNoStep;  // on the host: the last copy of another device's queue that must be done first
  s64 workspace_bytes = 0;
  BatchShare share = {};  // a bound step runs one group
  f64 cost = 0;           // the candidate's estimate, 0 for none
  Sharing sharing = Sharing::chunks;
  Candidate candidate = {};  // how its kernel is prepared and bound (plan/bind.h)
  KernelChoice choice = {};
  std::vector<Layout> given = {};  // the layouts in which producers left the inputs of a node
  // Where the target keeps other kernels: the chosen one, then those that could take its place; else empty.
  std::vector<Candidate> kernels = {};
};

// Memory of one device under a plan: activations, then the workspace that steps take in turn.
struct Arena {
  s64 bytes = 0;
  s64 workspace_offset = 0;
};

// What steps need of which threads take whole groups: so much for each of them, in the host's arena.
struct Slices {
  s64 count = 0;
  s64 offset = 0;            // of the first; the others follow
  s64 bytes = 0;             // of one
  s64 workspace_offset = 0;  // within one
};

// Which of the caller's inputs and outputs lie in the memory of the target's device; the others, and where nothing is said all, in
// the host's.
struct CallerMemory {
  // What kernels may rely on of memory that they read where it lies, as of a device's own.
  static constexpr s64 kAlignment = 256;

  std::vector<bool> inputs, outputs;
  std::vector<bool>
      aligned;  // inputs in the device's memory that begin at a multiple of kAlignment
  std::vector<bool> in_place =
      {};  // outputs there that do too, and which the kernel writes that computes them

  u32 of_input(size_t i) const { return i < inputs.size() && inputs[i] ? 1 : kHost; }
  bool is_aligned(size_t i) const { return i < aligned.size() && aligned[i]; }
  bool is_in_place(size_t i) const { return i < in_place.size() && in_place[i]; }
  u32 of_output(size_t i) const { return i < outputs.size() && outputs[i] ? 1 : kHost; }
  bool operator==(const CallerMemory&) const = default;
};

struct Plan {
  std::vector<const Device*> devices;  // the host, then the target's device if that is another one
  std::vector<Arena> arenas;           // of each device
  Slices slices;
  Graph graph;  // concrete types; shape arithmetic folded away
  std::vector<Buffer> buffers;
  std::vector<PlanStep> steps;
  std::vector<TensorType> input_types;
  std::vector<TensorType> output_types;
  CallerMemory caller;

  s64 arena_bytes() const;  // of all devices
};

// What the lowerings were asked for a step that is a node; with the target of the step's device.
LowerRequest request_of(const Plan& plan, const PlanStep& step, const Target& target);
// What tuning knows a node by, and by which it can be run alone; empty for steps that are no node.
std::string signature_of(const Plan& plan, const PlanStep& step);

// Throws Error(invalid_argument) for shapes that the graph does not take, naming the node where they fail, and NeedsData
// when a type inside depends on data: such a graph runs in stages (runtime/staged.h).
Plan make_plan(const Graph& graph, std::span<const Shape> input_shapes, const Target& target,
               const CallerMemory& caller = {});

// The same, with the share asked for each node instead of the cheapest; a node that cannot run in groups runs whole. For tests.
Plan make_plan_in_groups(const Graph& graph, std::span<const Shape> input_shapes,
                         const Target& target, std::vector<BatchShare> shares);

// With another kernel of a step, and the memory that this one works in behind everything else: to try it. Not where threads take images of their own, whose slices of
// the arena have no room to grow.
Plan with_kernel(Plan plan, size_t step, const Candidate& candidate);

// Throws Error(invalid_argument) naming the input whose shape the graph does not take.
void check_input_shapes(const Graph& graph, std::span<const Shape> shapes);

// The stages of make_plan.
Graph specialize(const Graph& graph, std::span<const Shape> input_shapes);  // specialize.cc
void relabel_s8(Graph& graph);                                              // relabel.cc
// border.cc: `run`, of a step that is bound, after writing the zero point around each image of its outputs.
RunStep with_borders(const Plan& plan, const PlanStep& step, RunStep run);
// crossing.cc: a copy of a whole value, in the layout that it has, between the memories of devices or within one.
Candidate crossing_copy(const TensorType& type, Layout layout, u32 from, u32 to);
bool is_crossing(const Plan& plan, const PlanStep& step);
void order_queues(Plan& plan);  // crossing.cc: PlanStep::after
// placing.cc: borders, sizes and strides of buffers, and which share memory because a step need not copy.
void place_buffers(Plan& plan, std::span<const Candidate> candidates);
// memory.cc: offsets, arenas; for so many threads of the host, each with a cache of its own.
void plan_memory(Plan& plan, s64 threads, s64 cache_bytes);
void choose_sharing(Plan& plan, int threads);  // sharing.cc: PlanStep::sharing

}  // namespace octet
