// SPDX-License-Identifier: Apache-2.0
// Normalizations that are a line for each channel: BatchNormalization of reals, and InstanceNormalization of codes
// (kernels/instance_norm.cu).
#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/cuda/lower/product.h"
#include "backends/cuda/lower/walk.h"
#include "core/divide.h"
#include "ops/quantized/code_rows.h"
#include "ops/shared/axes.h"

namespace octet::cuda {

Offer lower_instance_norm(const LowerRequest& request);

namespace {

enum : size_t { kX, kScale, kBias, kMean, kVariance };

std::string parameters_reject(const LowerRequest& request) {
  if (request.constant(kX) != nullptr) return "the input is a constant";
  for (size_t i = kScale; i < request.inputs.size(); ++i) {
    if (request.constant(i) == nullptr) return "a parameter is not constant";
    if (request.constant(i)->dtype() != Dtype::f32) return "a parameter is not f32";
  }
  return {};
}

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

struct InstanceNormRequest {
  Shape shape = {};
  bool x_s8 = false;
  Epilogue epilogue = {};
  RowScales scales;
  f32 epsilon = 0.0f;
  Tensor scale = {}, bias = {};
  s64 chunks = 1;  // pieces of an image
  s64 groups = 1;  // threads along the channels of a block

  s64 images() const { return shape[0]; }
  s64 channels() const { return shape[1]; }
  s64 rows() const { return shape.rank() == 4 ? shape[2] : 1; }
  s64 columns() const { return dims_product(shape, shape.rank() == 4 ? 3 : 2, shape.rank()); }
  s64 pixels() const { return rows() * columns(); }
  s64 chunk() const { return ceil_div(pixels(), chunks); }
  s64 sum_bytes() const { return images() * chunks * channels() * 8; }
  s64 line_bytes() const { return images() * channels() * 8; }
};

constexpr s64 kThreads = 256;

// Pieces enough for all multiprocessors, and few enough pixels that sums of squares fit into 32 bits.
void split(InstanceNormRequest& norm, const Chip& chip) {
  constexpr s64 kBlocksEach = 4, kLeastPixels = 64, kMostPixels = 65536;
  constexpr s64 kWidest = 32;
  norm.groups = std::min<s64>(
      kWidest, static_cast<s64>(std::bit_ceil(static_cast<u64>(ceil_div(norm.channels(), 4)))));
  const s64 others = norm.images() * ceil_div(norm.channels(), 4 * norm.groups);
  norm.chunks = ceil_div(kBlocksEach * s64{chip.multiprocessors}, others);
  norm.chunks = std::min(norm.chunks, ceil_div(norm.pixels(), kLeastPixels));
  norm.chunks = std::max(norm.chunks, ceil_div(norm.pixels(), kMostPixels));
}

struct CodeStrides {
  s64 image, channel, row, pixel;
};
CodeStrides code_strides(const Shape& shape, const Placement& placement) {
  const std::vector<s64> s = strides_of(shape, placement);
  return shape.rank() == 4 ? CodeStrides{s[0], s[1], s[2], s[3]} : CodeStrides{s[0], s[1], 0, 1};
}

void set_places(KernelSource& source, const std::string& prefix, const CodeStrides& s) {
  source.set(prefix + "_IMAGE", s.image), source.set(prefix + "_CHANNEL", s.channel);
  source.set(prefix + "_ROW", s.row), source.set(prefix + "_PIXEL", s.pixel);
}

std::vector<Launch> norm_launches(const InstanceNormRequest& norm, const BindArgs& bind) {
  const CodeStrides x = code_strides(norm.shape, bind.inputs[kX]);
  const CodeStrides y = code_strides(norm.shape, bind.outputs[0]);
  const bool together =
      x.channel == 1 && y.channel == 1 &&
      common_power(4, {norm.channels(), x.image, x.row, x.pixel, y.image, y.row, y.pixel,
                       bind.input_offset(kX), bind.output_offset(0)}) == 4;
  const s64 vec = together ? 4 : 1;
  std::vector<Launch> launches;
  for (size_t part = 0; part < 3; ++part) {
    Launch launch{.source = {"instance_norm", {}}, .shape = {}, .part = part};
    KernelSource& source = launch.source;
    source.set("PART", static_cast<s64>(part));
    source.set("N", norm.images()), source.set("C", norm.channels());
    source.set("H", norm.rows()), source.set("W", norm.columns());
    set_places(source, "X", x), set_places(source, "Y", y);
    source.set("VEC", vec), source.set("GROUPS", norm.groups);
    source.set("CHUNKS", norm.chunks), source.set("CHUNK", norm.chunk());
    source.set("X_S8", s64{norm.x_s8});
    source.set("X_SCALE", norm.scales.x), source.set("Y_SCALE", norm.scales.y);
    source.set("EPSILON", norm.epsilon);
    source.set("ZP_Y", s64{norm.epilogue.range.zero_point});
    source.set("LO", s64{norm.epilogue.range.lo}), source.set("HI", s64{norm.epilogue.range.hi});
    const s64 pieces = norm.images() * norm.chunks * ceil_div(norm.channels(), vec * norm.groups);
    launch.shape = {
        .blocks = part == 1 ? ceil_div(norm.images() * norm.channels(), kThreads) : pieces,
        .threads = static_cast<int>(kThreads),
        .programmatic_dependent = true};
    launches.push_back(std::move(launch));
  }
  return launches;
}

params::InstanceNormParams norm_parameters(const InstanceNormRequest& norm, const StepData& data) {
  params::InstanceNormParams p{};
  p.x = data.input(kX);
  p.scale = data.blob<f32>(0);
  p.bias = data.blob<f32>(1);
  p.sums = reinterpret_cast<u32*>(data.args.workspace);
  p.lines = reinterpret_cast<f32*>(data.args.workspace + norm.sum_bytes());
  p.y = data.output();
  return p;
}

}  // namespace

Offer lower_batch_norm(const LowerRequest& request) {
  if (std::string reason = parameters_reject(request); !reason.empty()) return Reject{reason};
  const TensorType type = request.inputs[kX];
  if (type.dtype != Dtype::f32 || request.outputs[0].dtype != Dtype::f32)
    return Reject{"an operand is not f32"};
  if (type.shape.rank() < 2 || type.shape.elements() == 0)
    return Reject{"there is nothing to compute"};
  std::vector<Tensor> parameters;
  for (size_t i = kScale; i <= kVariance; ++i) parameters.push_back(*request.constant(i));
  const f32 epsilon = request.node.attrs.f("epsilon", 1e-5f);
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

Offer lower_instance_norm_codes(const LowerRequest& request) {
  // Reals are normalized as such, and the rows' kernel quantizes them.
  if (request.inputs[kX].dtype == Dtype::f32) return lower_instance_norm(request);
  if (std::string reason = parameters_reject(request); !reason.empty()) return Reject{reason};
  InstanceNormRequest norm;
  norm.shape = request.inputs[kX].shape;
  if (norm.shape.elements() == 0) return Reject{"there is nothing to compute"};
  norm.x_s8 = request.inputs[kX].dtype == Dtype::s8;
  norm.epilogue = epilogue_of(request.node);
  norm.scales = row_scales(request.node);
  norm.epsilon = request.node.attrs.f("epsilon", 1e-5f);
  norm.scale = *request.constant(kScale);
  norm.bias = *request.constant(kBias);
  const CudaDevice& device = device_of(request);
  split(norm, device.chip());
  Candidate candidate = candidate_of(request, "instance_norm", Layout::nhwc);
  candidate.strided = candidate.writes_slices = norm.shape.rank() == 4;
  candidate.by_image = true;
  candidate.overwrites = {kX};
  candidate.workspace_bytes = norm.sum_bytes() + norm.line_bytes();
  set_launches(candidate, device,
               {[norm](const BindArgs& bind) { return norm_launches(norm, bind); },
                [norm](const BindArgs&) {
                  return std::vector{constant_blob(norm.scale), constant_blob(norm.bias)};
                }},
               [norm](const BindArgs&) {
                 return
                     [norm](const StepData& data, size_t) { return norm_parameters(norm, data); };
               });
  return candidate;
}

}  // namespace octet::cuda
