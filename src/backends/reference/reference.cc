// SPDX-License-Identifier: Apache-2.0
#include "backends/reference/reference.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/host/queue.h"
#include "core/check.h"
#include "core/divide.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"

namespace octet {
namespace {

// What a reference step owns: its node, constant inputs, and views whose data pointers each run sets.
struct ReferenceStep {
  Node node;
  std::vector<Tensor> constants;  // empty where the input is an activation
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  std::vector<s64>
      spares;  // where results that the node leaves out lie in the workspace; -1: elsewhere
  s64 workspace_bytes = 0;

  // The views live on the stack of the call: contexts on several threads share one step.
  void run(const StepArgs& args) const {
    constexpr size_t kInline = 16;
    ConstView in_inline[kInline];
    MutableView out_inline[kInline];
    std::unique_ptr<ConstView[]> in_heap;
    std::unique_ptr<MutableView[]> out_heap;
    ConstView* in = in_inline;
    MutableView* out = out_inline;
    if (inputs.size() > kInline)
      in = (in_heap = std::make_unique<ConstView[]>(inputs.size())).get();
    if (outputs.size() > kInline)
      out = (out_heap = std::make_unique<MutableView[]>(outputs.size())).get();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const void* data =
          constants[i] ? static_cast<const void*>(constants[i].data()) : args.inputs[i];
      in[i] = {inputs[i].dtype, inputs[i].shape, data};
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::byte* data = spares[i] >= 0 ? args.workspace + spares[i] : args.outputs[i];
      out[i] = {outputs[i].dtype, outputs[i].shape, data};
    }
    node.op->eval({node, {in, inputs.size()}, {out, outputs.size()}});
  }

  // A plan has no types of results that the node leaves out; definitions take sizes from them, and write them all the same.
  void keep_omitted() {
    spares.assign(outputs.size(), -1);
    if (std::ranges::find(node.outputs, kNoValue) == node.outputs.end() || has_body(node)) return;
    std::vector<const Tensor*> values;
    for (const Tensor& constant : constants) values.push_back(constant ? &constant : nullptr);
    const std::vector<TensorType> all = infer_node(node, inputs, values);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue || !all[i].shape.is_static()) continue;
      constexpr s64 kAlignment = 64;
      outputs[i] = all[i];
      spares[i] = workspace_bytes;
      workspace_bytes += ceil_div(outputs[i].bytes(), kAlignment) * kAlignment;
    }
  }
};

}  // namespace

Candidate reference_candidate(const LowerRequest& request) {
  auto step = std::make_shared<ReferenceStep>();
  step->node = request.node;
  step->inputs = request.inputs;
  step->outputs = request.outputs;
  for (size_t i = 0; i < request.node.inputs.size(); ++i) {
    const Tensor* constant = request.constant(i);
    step->constants.push_back(constant != nullptr ? *constant : Tensor());
  }
  step->keep_omitted();
  Candidate candidate;
  candidate.kernel = "reference";
  candidate.workspace_bytes = step->workspace_bytes;
  candidate.inputs.assign(request.node.inputs.size(), Layout::linear);
  candidate.outputs.assign(request.node.outputs.size(), Layout::linear);
  candidate.holds = request.constants();
  candidate.bind = [step](const BindArgs&) -> RunStep {
    return [step](const StepArgs& args) { step->run(args); };
  };
  return candidate;
}

Candidate reference_constant(const Tensor& tensor) {
  Candidate candidate;
  candidate.kernel = "constant";
  candidate.outputs = {Layout::linear};
  candidate.bind = [tensor](const BindArgs&) -> RunStep {
    return [tensor](const StepArgs& args) {
      std::memcpy(args.outputs[0], tensor.data(), tensor.bytes());
    };
  };
  return candidate;
}

RunStep reference_fill_border(const BorderFill& border) {
  return [border](const StepArgs& args) {
    const Placement& p = border.placement;
    const s64 side = p.border * p.pixel_stride;
    u8* base = reinterpret_cast<u8*>(args.outputs[border.output]) - border.origin_bytes;
    // The end of a row and the start of the next are adjacent: one fill for both, and one before and one behind all rows.
    const s64 fills = border.height + 1, rows = p.border * p.row_stride;
    pool_of(args).parallel_for(border.images * fills, [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) {
        const s64 y = i % fills;
        u8* image = base + i / fills * p.image_stride;
        u8* at = y == 0 ? image : image + rows + y * p.row_stride - side;
        const s64 bytes = y == 0 || y == border.height ? rows + side : 2 * side;
        std::memset(at, border.code, static_cast<size_t>(bytes));
      }
    });
  };
}

}  // namespace octet
