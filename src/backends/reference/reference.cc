// SPDX-License-Identifier: Apache-2.0
#include "backends/reference/reference.h"

#include <cstring>
#include <memory>

#include "core/check.h"

namespace octet {
namespace {

// What a reference step owns: its node, constant inputs, and views whose data pointers each run sets.
struct ReferenceStep {
  Node node;
  std::vector<Tensor> constants;  // empty where the input is an activation
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;

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
    for (size_t i = 0; i < outputs.size(); ++i)
      out[i] = {outputs[i].dtype, outputs[i].shape, args.outputs[i]};
    node.op->eval({node, {in, inputs.size()}, {out, outputs.size()}});
  }
};

struct Strides {
  s64 image, row, pixel, channel;
};

Strides strides_of(const Placement& placement, const Shape& shape) {
  if (placement.layout == Layout::nhwc)
    return {placement.image_stride, placement.row_stride, placement.pixel_stride, 1};
  const s64 plane = shape[2] * shape[3];
  return {shape[1] * plane, shape[3], 1, plane};
}

struct Copy {
  Shape shape;  // N, C, H, W
  Strides src, dst;
  size_t element;

  void run(const std::byte* from, std::byte* to, s64 first, s64 last) const {
    const s64 height = shape[2];
    for (s64 row = first; row < last; ++row) {
      const s64 n = row / height, y = row % height;
      for (s64 x = 0; x < shape[3]; ++x) {
        for (s64 c = 0; c < shape[1]; ++c) {
          const s64 s = n * src.image + y * src.row + x * src.pixel + c * src.channel;
          const s64 d = n * dst.image + y * dst.row + x * dst.pixel + c * dst.channel;
          std::memcpy(to + static_cast<size_t>(d) * element,
                      from + static_cast<size_t>(s) * element, element);
        }
      }
    }
  }
};

RunStep bind_copy(const TensorType& type, const BindArgs& args) {
  const size_t bytes = static_cast<size_t>(type.bytes());
  if (args.inputs[0].layout == Layout::linear && args.outputs[0].layout == Layout::linear) {
    return [bytes](const StepArgs& step) { std::memcpy(step.outputs[0], step.inputs[0], bytes); };
  }
  const Copy copy{type.shape, strides_of(args.inputs[0], type.shape),
                  strides_of(args.outputs[0], type.shape), dtype_bytes(type.dtype)};
  return [copy](const StepArgs& step) {
    step.pool.parallel_for(copy.shape[0] * copy.shape[2], [&](s64 begin, s64 end, int) {
      copy.run(step.inputs[0], step.outputs[0], begin, end);
    });
  };
}

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
  Candidate candidate;
  candidate.kernel = "reference";
  candidate.inputs.assign(request.node.inputs.size(), Layout::linear);
  candidate.outputs.assign(request.node.outputs.size(), Layout::linear);
  candidate.bind = [step](const BindArgs&) -> RunStep {
    return [step](const StepArgs& args) { step->run(args); };
  };
  return candidate;
}

Candidate reference_convert(const TensorType& type, Layout from, Layout to, const Target&) {
  Candidate candidate;
  candidate.kernel = from == to ? "copy" : "layout_reference";
  candidate.inputs = {from};
  candidate.outputs = {to};
  candidate.strided = candidate.by_image = true;
  candidate.bind = [type](const BindArgs& args) { return bind_copy(type, args); };
  return candidate;
}

const Backend& reference_backend() {
  static const Backend backend{.name = "reference",
                               .lowerings = {},
                               .reference = reference_candidate,
                               .convert = reference_convert,
                               .relabel_s8 = false};
  return backend;
}

}  // namespace octet
