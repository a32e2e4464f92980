// SPDX-License-Identifier: Apache-2.0
// How a backend answers "can you run this node?": an Offer is a Candidate, or several, or a Reject with its reason.
// A lowering (backends/*/lower/*.cc) sees one node with concrete types, and never another node.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "core/types.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "octet/tensor.h"

namespace octet {

class Device;  // plan/device.h
class Queue;
class Tuning;  // octet/tuning.h

// How the elements of a value lie in memory.
//   linear  dense, row-major in the order of the shape
// The others are for rank 4 alone; the shape stays N,C,H,W:
//   nhwc      memory is N,H,W,C with free pixel and row strides
//   nhwc_c32  the same, pixels rounded up to a multiple of 32 channels; the bytes of those that the shape has not are zero
//   nc32hw32  blocks of 32 channels: memory is N,C/32,H,W,32, the last block filled up with zero bytes
// Sizes and strides of each: plan/format.h.
enum class Layout : u8 { linear, nhwc, nhwc_c32, nc32hw32 };

// Where a value's bytes are, relative to the data pointer that a step is given; strides in elements, of rank 4 only.
// The pixel stride may exceed C (the value is a channel slice of a concatenation) and a border of rows and columns may
// surround the image (already filled with the zero point) when a consumer asked for one.
struct Placement {
  Layout layout = Layout::linear;
  s64 pixel_stride = 0;  // between (h, w) and (h, w + 1)
  s64 row_stride = 0;    // between (h, w) and (h + 1, w)
  s64 image_stride = 0;  // between images
  s64 border = 0;        // rows and columns readable beyond each edge
  s64 block_stride = 0;  // nc32hw32: between (c, h, w) and (c + 32, h, w)

  bool operator==(const Placement&) const = default;
};

// What a plan is made for. Facts of a device are its backend's affair (backends/cpu/device.h reads those of the CPU).
struct Target {
  const Device* device = nullptr;  // runs what it can
  const Device* host =
      nullptr;      // runs the rest, and owns the caller's tensors; may be the device itself
  int threads = 1;  // of the host
  // Plans keep the kernels that accepted a node and were not chosen, those of lesser devices too: for measuring.
  bool keep_others = false;
  std::shared_ptr<const Tuning> tuning = nullptr;  // measured choices, or null
  bool chains = true;  // one kernel may run several nodes (plan/chain.h)
};

// What a lowering is asked. Activation codes are always u8 here: planning for the CPU relabels s8 values first.
struct LowerRequest {
  const Graph& graph;
  const Node& node;
  std::vector<TensorType> inputs;   // concrete; rank 0 for omitted inputs
  std::vector<TensorType> outputs;  // concrete
  std::vector<Layout> layouts;      // of each input as its producer leaves it
  const Target& target;

  bool has_input(size_t i) const { return node.input(i) != kNoValue; }
  // The constant at input i, or null. Constants of node inputs are always linear.
  const Tensor* constant(size_t i) const { return graph.constant_input(node, i); }
  // Of each input, whether it is a constant: for Candidate::holds.
  std::vector<bool> constants() const {
    std::vector<bool> all;
    for (size_t i = 0; i < node.inputs.size(); ++i) all.push_back(constant(i) != nullptr);
    return all;
  }
};

// Pointers of one call. plan/operands.h says what a plan that is bound promises of them.
struct StepArgs {
  // One for each node input; null for omitted ones, and nothing that a kernel may read for constants that it holds itself.
  const std::byte* const* inputs;
  std::byte* const* outputs;
  std::byte*
      workspace;  // 64-byte aligned, Candidate::workspace_bytes long, shared by no concurrent step
  Queue& queue;   // of the device that the step was planned for
};

// Runs the step, or gives it to the queue; must not allocate. Our kernels do not throw; a vendor library's failure is an Error,
// thrown by the caller's thread after all threads are done.
using RunStep = std::function<void(const StepArgs&)>;

// What a kernel makes of constants before it runs: packed weights, generated code. Immutable, so that all plans of all
// contexts of an engine can read one.
using Prepared = std::shared_ptr<const void>;

// How one is made, and what it is known by.
struct Preparation {
  std::string
      key;  // with the constants, all that the result depends on; empty: nobody else can use it
  std::vector<Tensor> constants;   // of which it is made
  std::function<Prepared()> make;  // on any thread, perhaps another than binds; may throw Error
};

// The type is part of the key: who finds a Prepared by it knows what it points to.
template <class T, class Make>
Preparation preparation(const std::string& key, std::vector<Tensor> constants, Make make) {
  return {key.empty() ? key : typeid(T).name() + (' ' + key), std::move(constants),
          [make = std::move(make)]() -> Prepared { return std::make_shared<const T>(make()); }};
}

// Where this step's values finally lie, and what it prepared.
struct BindArgs {
  std::vector<Placement> inputs;
  std::vector<Placement> outputs;
  std::vector<Prepared> prepared = {};  // in the order of Candidate::prepare
  // Bytes from an address that is a multiple of 64 to where each value begins; empty where all begin at one.
  std::vector<s64> input_offsets = {};
  std::vector<s64> output_offsets = {};

  s64 input_offset(size_t i) const { return input_offsets.empty() ? 0 : input_offsets[i]; }
  s64 output_offset(size_t i) const { return output_offsets.empty() ? 0 : output_offsets[i]; }

  // T as in preparation<T>(). The step keeps the pointer: what no plan holds is made again for the next.
  template <class T>
  std::shared_ptr<const T> prepared_as(size_t i = 0) const {
    return std::static_pointer_cast<const T>(prepared[i]);
  }
};

struct Candidate {
  std::string kernel;           // "conv_u8s8_6x64_vnni", "dnnl_conv_f32", "reference"
  std::vector<Layout> inputs;   // the layout required of each input
  std::vector<Layout> outputs;  // the layout that each output gets
  // Of each input, whether it is a constant of which the step itself holds what it needs, prepared or as the graph has it: it reads no
  // pointer of that. Constants that it does not hold are bound like activations, in its device's memory and the layout
  // required; so a lowering that does not think of a constant gets it as any value. May be shorter than `inputs`.
  std::vector<bool> holds = {};
  s64 workspace_bytes = 0;
  std::string note;  // for the inspector, may be empty
  // What it makes of constants, given where values lie; null: nothing. Preparing takes milliseconds, happens on several threads
  // at once and is shared (plan/prepared_store.h); binding resolves strides and offsets.
  std::function<std::vector<Preparation>(const BindArgs&)> prepare = nullptr;
  std::function<RunStep(const BindArgs&)> bind;  // called once for a plan

  // Rows and columns of zero-point border that this step would like around input 0 (nhwc).
  s64 wanted_border = 0;
  // The step honours any Placement (strides, borders) of its nhwc inputs and outputs; else it needs them dense.
  bool strided = false;
  // Addresses and strides of its nhwc values must be multiples of so many bytes; dense ones are, since it accepted them.
  s64 alignment = 1;
  // Output 0 holds the bytes of input 0 as they lie: the planner may let both be one buffer.
  bool same_bytes = false;
  // Inputs whose memory output 0 may take if they lie as it does: each of its elements is written once, after the same element
  // of the input was read, and by the thread that read it. Best first. `may_overwrite` says where that depends on where values
  // lie; null: it does not.
  std::vector<size_t> overwrites = {};
  std::function<bool(const BindArgs&)> may_overwrite = nullptr;
  // Pixels of its output may lie further apart than they are wide at no cost: as a channel slice of a concatenation.
  bool writes_slices = false;
  // The output's channels are those of the inputs, one after another, or each output's a run of the input's: what lies in place is not copied.
  bool joins_channels = false;
  // Estimated cycles of one core, for comparison with other candidates of the node; 0: the order of the table decides.
  f64 cost = 0;
  // Multiplications that its unit does in a cycle of one core at best, for the inspector's floor; 0: it multiplies no matrices.
  f64 macs_per_cycle = 0;
  // Asked for the whole batch: index i of dimension 0 of the outputs follows from index i of every input that is no constant,
  // by the same computation for each i. The planner may ask again for fewer images and run the step several times.
  bool by_image = false;
  // The last bits may differ from the definition (docs/numerics.md, class `close`).
  bool close = false;

  bool holds_input(size_t i) const { return i < holds.size() && holds[i]; }
};

struct Reject {
  std::string reason;  // "channels 30 are not a multiple of 4"
};

// Several kernels of one lowering compete like those of several lowerings; the best comes first.
using Candidates = std::vector<Candidate>;
using Offer = std::variant<Candidate, Reject, Candidates>;

// One lowering: the operator it serves and its function. Backends list theirs in lower/lowerings.def, best first.
struct Lowering {
  std::string_view op;
  std::string_view name;
  Offer (*offer)(const LowerRequest&);
  std::string_view f32_kernel = {};  // whose kernels it brings to f32 data ("oneDNN"); empty: none
};

}  // namespace octet
