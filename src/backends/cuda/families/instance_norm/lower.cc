// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization of codes. Of reals: rows.
#include <algorithm>
#include <bit>

#include "backends/cuda/families/instance_norm/spec.h"
#include "backends/cuda/lower/norm.h"
#include "backends/cuda/lower/product.h"
#include "core/divide.h"
#include "ops/attributes/normalization.h"
#include "ops/quantized/code_rows.h"
#include "ops/shared/axes.h"

namespace octet::cuda {

Offer lower_instance_norm(const LowerRequest& request);

namespace {

using instance_norm::CodeStrides;
using instance_norm::kThreads;
using instance_norm::Part;
using instance_norm::Spec;

enum : size_t { kX, kScale, kBias };

struct InstanceNormRequest {
  Spec spec = {};  // but where values lie
  Shape shape = {};
  Tensor scale = {}, bias = {};
};

s64 rows_of(const Shape& shape) { return shape.rank() == 4 ? shape[2] : 1; }
s64 columns_of(const Shape& shape) {
  return dims_product(shape, shape.rank() == 4 ? 3 : 2, shape.rank());
}

// Pieces enough for all multiprocessors, and few enough pixels that sums of squares fit into 32 bits.
void split(Spec& spec, const Chip& chip) {
  constexpr s64 kBlocksEach = 4, kLeastPixels = 64, kWidest = 32;
  const s64 vectors = ceil_div(s64{spec.channels}, 4);
  const s64 groups = std::min(kWidest, static_cast<s64>(std::bit_ceil(static_cast<u64>(vectors))));
  const s64 others = spec.images * ceil_div(s64{spec.channels}, 4 * groups);
  const s64 pixels = instance_norm::pixels(spec);
  s64 chunks = ceil_div(kBlocksEach * s64{chip.multiprocessors}, others);
  chunks = std::min(chunks, ceil_div(pixels, kLeastPixels));
  chunks = std::max(chunks, ceil_div(pixels, s64{instance_norm::kMostPixels}));
  spec.groups = field_of(groups);
  spec.chunks = field_of(chunks);
}

CodeStrides code_strides(const Shape& shape, const Placement& placement) {
  const std::vector<s64> s = strides_of(shape, placement);
  const bool image = shape.rank() == 4;
  return {.image = s[0], .channel = s[1], .row = image ? s[2] : 0, .pixel = image ? s[3] : 1};
}

std::vector<Launch> norm_launches(const InstanceNormRequest& norm, const BindArgs& bind) {
  Spec spec = norm.spec;
  spec.x = code_strides(norm.shape, bind.inputs[kX]);
  spec.y = code_strides(norm.shape, bind.outputs[0]);
  const CodeStrides &x = spec.x, &y = spec.y;
  const bool together =
      x.channel == 1 && y.channel == 1 &&
      common_power(4, {spec.channels, x.image, x.row, x.pixel, y.image, y.row, y.pixel,
                       bind.input_offset(kX), bind.output_offset(0)}) == 4;
  spec.vec = together ? 4 : 1;
  std::vector<Launch> launches;
  for (const Part part : {Part::sums, Part::lines, Part::codes}) {
    spec.part = part;
    launches.push_back(
        {.source = source_of("instance_norm", spec),
         .shape = {.blocks = blocks(spec), .threads = kThreads, .programmatic_dependent = true},
         .part = static_cast<size_t>(part)});
  }
  return launches;
}

instance_norm::Params norm_parameters(const Spec& spec, const StepData& data) {
  return {.x = data.input(kX),
          .scale = data.blob<f32>(0),
          .bias = data.blob<f32>(1),
          .sums = reinterpret_cast<u32*>(data.args.workspace),
          .lines = reinterpret_cast<f32*>(data.args.workspace + sum_bytes(spec)),
          .y = data.output()};
}

// Of a request whose sizes fit.
Spec spec_of(const LowerRequest& request) {
  const Shape& shape = request.inputs[kX].shape;
  const RowScales scales = row_scales(request.node);
  const CodeRange range = epilogue_of(request.node).range;
  Spec spec{.part = Part::sums,
            .images = field_of(shape[0]),
            .channels = field_of(shape[1]),
            .height = field_of(rows_of(shape)),
            .width = field_of(columns_of(shape)),
            .x = {},
            .y = {},
            .vec = 1,
            .groups = 1,
            .chunks = 1,
            .x_signed = request.inputs[kX].dtype == Dtype::s8,
            .x_scale = bits_of(scales.x),
            .epsilon = bits_of(attribute_of<&NormAttributes::epsilon>(request.node)),
            .y_scale = bits_of(scales.y),
            .zero_point = range.zero_point,
            .lo = range.lo,
            .hi = range.hi};
  split(spec, device_of(request).chip());
  return spec;
}

}  // namespace

Offer lower_instance_norm_codes(const LowerRequest& request) {
  // Reals are normalized as such, and the rows' kernel quantizes them.
  if (request.inputs[kX].dtype == Dtype::f32) return lower_instance_norm(request);
  if (std::string reason = norm_parameters_reject(request); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[kX].shape;
  if (shape.elements() == 0) return Reject{"there is nothing to compute"};
  constexpr s64 kMost = (s64{1} << 31) - kThreads;
  if (rows_of(shape) * columns_of(shape) >= kMost) return Reject{"an image has 2^31 pixels"};
  if (shape[0] * shape[1] >= kMost) return Reject{"the images have 2^31 channels"};
  const InstanceNormRequest norm{.spec = spec_of(request),
                                 .shape = shape,
                                 .scale = *request.constant(kScale),
                                 .bias = *request.constant(kBias)};
  Candidate candidate = candidate_of(request, "instance_norm", Layout::nhwc);
  candidate.strided = candidate.writes_slices = shape.rank() == 4;
  candidate.by_image = true;
  candidate.overwrites = {kX};
  candidate.workspace_bytes = sum_bytes(norm.spec) + line_bytes(norm.spec);
  set_launches(candidate, device_of(request),
               {[norm](const BindArgs& bind) { return norm_launches(norm, bind); },
                [norm](const BindArgs&) {
                  return std::vector{constant_blob(norm.scale), constant_blob(norm.bias)};
                }},
               [spec = norm.spec](const BindArgs&) {
                 return
                     [spec](const StepData& data, size_t) { return norm_parameters(spec, data); };
               });
  return candidate;
}

}  // namespace octet::cuda
