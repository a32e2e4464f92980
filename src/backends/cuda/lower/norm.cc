// SPDX-License-Identifier: Apache-2.0
// BatchNormalization of reals: a line for each channel.
#include "backends/cuda/lower/norm.h"

#include <cmath>

#include "backends/cuda/lower/walk.h"
#include "ops/attributes/normalization.h"

namespace octet::cuda {

namespace {

enum : size_t { kX, kScale, kBias, kMean, kVariance };

// Of each channel: mean, factor, scale, bias.
std::vector<std::byte> packed(const std::vector<Tensor>& parameters, f32 epsilon) {
  std::vector<f32> all;
  for (size_t c = 0; c < parameters[0].as<f32>().size(); ++c) {
    const auto at = [&](size_t input) { return parameters[input - kScale].as<f32>()[c]; };
    all.push_back(at(kMean));
    all.push_back(1.0f / std::sqrt(at(kVariance) + epsilon));
    all.push_back(at(kScale));
    all.push_back(at(kBias));
  }
  return bytes_of(std::span<const f32>(all));
}

// The parameters of a channel are one vector.
Walk batch_norm_walk(const TensorType& type, const BindArgs& bind) {
  const Shape& shape = type.shape;
  Walk walk{.sizes = {shape.begin(), shape.end()},
            .operands = {walk_operand(type, shape, bind.outputs[0], bind.output_offset(0)),
                         walk_operand(type, shape, bind.inputs[kX], bind.input_offset(kX))},
            .body = "f32_add(f32_mul(f32_mul(f32_sub(a, b.x), b.y), b.z), b.w)"};
  WalkOperand parameters{.type = ElementType::f32x4, .bytes = 16};
  parameters.strides.assign(walk.sizes.size(), 0);
  parameters.strides[1] = 1;
  parameters.constant = true;
  walk.operands.push_back(std::move(parameters));
  return walk;
}

}  // namespace

std::string norm_parameters_reject(const LowerRequest& request) {
  if (request.constant(kX) != nullptr) return "the input is a constant";
  for (size_t i = kScale; i < request.inputs.size(); ++i) {
    if (request.constant(i) == nullptr) return "a parameter is not constant";
    if (request.constant(i)->dtype() != Dtype::f32) return "a parameter is not f32";
  }
  return {};
}

Offer lower_batch_norm(const LowerRequest& request) {
  if (std::string reason = norm_parameters_reject(request); !reason.empty()) return Reject{reason};
  const TensorType type = request.inputs[kX];
  if (type.dtype != Dtype::f32 || request.outputs[0].dtype != Dtype::f32)
    return Reject{"an operand is not f32"};
  if (type.shape.rank() < 2 || type.shape.elements() == 0)
    return Reject{"there is nothing to compute"};
  std::vector<Tensor> parameters;
  for (size_t i = kScale; i <= kVariance; ++i) parameters.push_back(*request.constant(i));
  const f32 epsilon = attribute_of<&NormAttributes::epsilon>(request.node);
  Candidate candidate = candidate_of(request, "batch_norm_f32", common_layout(request));
  candidate.strided = candidate.writes_slices = true;
  candidate.overwrites = {kX};
  const CudaDevice& device = device_of(request);
  set_step(candidate, device,
           {.make_launch =
                [&device, type](const BindArgs& bind) {
                  return walk_launch(device, batch_norm_walk(type, bind));
                },
            .recipes =
                [parameters, epsilon](const BindArgs&) {
                  return std::vector<BlobRecipe>{
                      {fmt::format("batch_norm {}", epsilon), parameters,
                       [parameters, epsilon] { return packed(parameters, epsilon); }}};
                }},
           [](const StepData& data) {
             WalkParams p{};
             p.a = data.input(kX);
             p.b = data.blob<f32>(0);
             p.out = data.output();
             return p;
           });
  return candidate;
}

}  // namespace octet::cuda
