// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/map/elements.h"

#include <algorithm>

namespace octet::cuda {
namespace {

Walk walk_of(const Elementwise& step, const BindArgs& bind) {
  const Shape& out = step.types[0].shape;
  Walk walk{.sizes = {out.begin(), out.end()}, .operands = {}, .body = step.body};
  walk.operands.push_back(walk_operand(step.types[0], out, bind.outputs[0], bind.output_offset(0)));
  for (size_t i = 0; i + 1 < step.types.size(); ++i) {
    const Tensor& constant = step.constants[i];
    walk.operands.push_back(
        constant ? walk_constant(constant, out)
                 : walk_operand(step.types[i + 1], out, bind.inputs[i], bind.input_offset(i)));
  }
  if (step.table) {
    walk.table = true;
    walk.table_flipped = step.table_flipped;
  }
  return walk;
}

WalkParams parameters(const Elementwise& step, const StepData& data) {
  const void* operands[3] = {};
  size_t blob = 0;
  for (size_t i = 0; i + 1 < step.types.size(); ++i)
    operands[i] = step.constants[i] ? data.blob<u8>(blob++) : data.input(i);
  WalkParams p{};
  p.a = operands[0], p.b = operands[1], p.c = operands[2];
  if (step.table) p.table = data.blob<u8>(blob);
  p.out = data.output();
  return p;
}

}  // namespace

bool is_picture(const LowerRequest& request) {
  const auto& entries = request.graph.inputs;
  return request.inputs[0].shape.rank() == 4 && common_layout(request) == Layout::linear &&
         std::find(entries.begin(), entries.end(), request.node.input(0)) != entries.end();
}

Offer elementwise(const LowerRequest& request, const char* kernel, Layout layout,
                  Elementwise step) {
  if (request.outputs[0].shape.elements() == 0) return Reject{"there is nothing to compute"};
  Candidate candidate = candidate_of(request, kernel, layout);
  candidate.strided = candidate.writes_slices = true;
  const CudaDevice& device = device_of(request);
  step.constants.resize(step.types.size() - 1);
  set_step(candidate, device,
           {.make_launch =
                [&device, step](const BindArgs& bind) {
                  return walk_launch(device, walk_of(step, bind));
                },
            .recipes =
                [step](const BindArgs&) {
                  std::vector<BlobRecipe> blobs;
                  for (const Tensor& constant : step.constants) {
                    if (constant) blobs.push_back(constant_blob(constant));
                  }
                  if (step.table) blobs.push_back(constant_blob(step.table));
                  return blobs;
                }},
           [step](const StepData& data) { return parameters(step, data); });
  return candidate;
}

// Constants keep the order of the shape: they are small, or the same for all pixels.
Offer elementwise_of_inputs(const LowerRequest& request, const char* kernel, std::string body) {
  Elementwise step{.types = {request.outputs[0]}, .body = std::move(body)};
  constexpr size_t kMostInputs = 3;
  if (request.inputs.size() > kMostInputs) return Reject{"there are more than three operands"};
  bool brought = false;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Tensor* constant = request.constant(i);
    step.types.push_back(request.inputs[i]);
    step.constants.push_back(constant != nullptr ? *constant : Tensor());
    brought = brought || constant == nullptr;
  }
  if (!brought) return Reject{"all operands are constant"};
  Offer offer = elementwise(request, kernel, common_layout(request), std::move(step));
  if (Candidate* candidate = std::get_if<Candidate>(&offer)) {
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      if (request.inputs[i] == request.outputs[0]) candidate->overwrites.push_back(i);
    }
  }
  return offer;
}

}  // namespace octet::cuda
