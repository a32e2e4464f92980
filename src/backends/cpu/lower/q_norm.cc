// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization of images of codes.
#include <memory>
#include <utility>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/norm/norm.h"
#include "backends/cpu/lower/q_common.h"
#include "ops/attributes/normalization.h"
#include "ops/quantized/code_rows.h"

namespace octet {
namespace {

std::string reject(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (request.inputs[0].dtype != Dtype::u8) return "the input codes are not u8";
  if (request.inputs[0].shape.rank() != 4) return "only images are normalized";
  for (size_t i : {1u, 2u}) {
    if (request.constant(i) == nullptr) return "scale or bias is not constant";
    if (request.constant(i)->dtype() != Dtype::f32) return "scale or bias is not f32";
  }
  return epilogue_reject(epilogue_of(request.node), false);
}

NormSpec spec_of(const LowerRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const RowScales scales = row_scales(request.node);
  NormSpec spec;
  spec.batch = shape[0];
  spec.channels = shape[1];
  spec.rows = shape[2];
  spec.columns = shape[3];
  spec.threads = request.target.threads;
  spec.norm = {scales.x, scales.y, attribute_of<&NormAttributes::epsilon>(request.node)};
  spec.scale = *request.constant(1);
  spec.bias = *request.constant(2);
  spec.epilogue = epilogue_args(epilogue_of(request.node), nullptr);
  return spec;
}

}  // namespace

Offer lower_q_instance_norm(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const NormKernel& kernel = best_kernel(kInstanceNormKernels, isa_of(request.target));
  Candidate candidate = candidate_of(request, kernel.name, Layout::nhwc);
  const NormSpec spec = spec_of(request);
  candidate.strided = candidate.by_image = true;
  candidate.workspace_bytes = Norm::workspace_bytes(spec.channels, spec.threads);
  const s64 c = spec.channels;
  if (keeps_apart(c) || (c > 0 && 64 % c == 0)) candidate.overwrites = {0};
  candidate.bind = [&kernel, spec, shape = request.inputs[0].shape](const BindArgs& bind) {
    NormSpec placed = spec;
    placed.input = nhwc_placement(shape, bind.inputs[0]);
    placed.output = nhwc_placement(shape, bind.outputs[0]);
    const auto norm = std::make_shared<const Norm>(kernel, std::move(placed));
    return RunStep(
        [norm](const StepArgs& step) { norm->run(u8_input(step, 0), u8_output(step, 0), step); });
  };
  return candidate;
}

}  // namespace octet
