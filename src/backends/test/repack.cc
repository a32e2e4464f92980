// SPDX-License-Identifier: Apache-2.0
#include "backends/test/repack.h"

#include <optional>
#include <vector>

#include "backends/reference/reference.h"
#include "plan/format.h"

namespace octet {
namespace {

constexpr s64 kAlignment = 64;
constexpr s64 kSlack = 64;  // that kernels may read past the end

s64 aligned(s64 bytes) { return (bytes + kSlack + kAlignment - 1) / kAlignment * kAlignment; }

// One value that the kernel finds in its workspace.
struct Repacked {
  TensorType type;
  Layout outside;
  s64 offset = 0;  // in the workspace

  Placement inside() const { return dense_placement(type, Layout::nhwc, 0); }
};

struct Repacking {
  std::optional<Repacked> input, output;

  // What the kernel finds.
  BindArgs inside(BindArgs args) const {
    if (input) args.inputs[0] = input->inside();
    if (output) args.outputs[0] = output->inside();
    return args;
  }

  RunStep bind(const std::function<RunStep(const BindArgs&)>& kernel, const BindArgs& args) const {
    RunStep before, after;
    if (input) {
      const Candidate convert = reference_convert(input->type, input->outside, Layout::nhwc, {});
      before = convert.bind({{args.inputs[0]}, {input->inside()}});
    }
    if (output) {
      const Candidate convert = reference_convert(output->type, Layout::nhwc, output->outside, {});
      after = convert.bind({{output->inside()}, {args.outputs[0]}});
    }
    return [*this, before, after, run = kernel(inside(args)), inputs = args.inputs.size(),
            outputs = args.outputs.size()](const StepArgs& step) {
      std::vector<const std::byte*> from(step.inputs, step.inputs + inputs);
      std::vector<std::byte*> to(step.outputs, step.outputs + outputs);
      if (input) {
        std::byte* packed = step.workspace + input->offset;
        before({step.inputs, &packed, nullptr, step.queue});
        from[0] = packed;
      }
      if (output) to[0] = step.workspace + output->offset;
      run({from.data(), to.data(), step.workspace, step.queue});
      const std::byte* packed = to[0];
      if (output) after({&packed, step.outputs, nullptr, step.queue});
    };
  }
};

// Takes room for the value at the end of the workspace.
Repacked repacked(const TensorType& type, Layout& layout, Layout outside, s64& workspace) {
  const s64 offset = aligned(workspace);
  workspace = offset + aligned(type.bytes());
  layout = outside;
  return {type, outside, offset};
}

bool is_activation(const LowerRequest& request) {
  return !request.inputs.empty() && request.has_input(0) && request.constant(0) == nullptr;
}

}  // namespace

Candidate with_blocks(Candidate candidate, const LowerRequest& request, Layout input,
                      Layout output) {
  Repacking repacking;
  if (is_activation(request) && candidate.inputs[0] == Layout::nhwc)
    repacking.input =
        repacked(request.inputs[0], candidate.inputs[0], input, candidate.workspace_bytes);
  if (request.node.outputs[0] != kNoValue && candidate.outputs[0] == Layout::nhwc)
    repacking.output =
        repacked(request.outputs[0], candidate.outputs[0], output, candidate.workspace_bytes);
  if (!repacking.input && !repacking.output) return candidate;
  candidate.wanted_border = 0;
  candidate.strided = candidate.same_bytes = false;
  candidate.writes_slices = candidate.joins_channels = false;
  candidate.overwrites.clear();
  if (candidate.prepare != nullptr) {
    candidate.prepare = [repacking, prepare = std::move(candidate.prepare)](const BindArgs& args) {
      return prepare(repacking.inside(args));
    };
  }
  candidate.bind = [repacking, kernel = std::move(candidate.bind)](const BindArgs& args) {
    return repacking.bind(kernel, args);
  };
  return candidate;
}

}  // namespace octet
