// SPDX-License-Identifier: Apache-2.0
// Softmax and the normalizations of rows, of reals and of codes: kernels/rows.cu, kernels/norm_pairs.cu.
#include <algorithm>
#include <bit>

#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/step.h"
#include "core/divide.h"
#include "ops/quantized/code_rows.h"
#include "ops/quantized/epilogue.h"
#include "ops/shared/axes.h"
#include "ops/shared/layer_norm.h"
#include "ops/shared/softmax.h"

namespace octet::cuda {
namespace {

enum : size_t { kX, kScale, kBias };

struct RowsRequest {
  const char* name = "";
  s64 rows = 0, count = 0, inner = 1;
  s64 channels = 0;  // of an image, where scale and bias belong to them
  s64 group = 1;     // of a row
  bool softmax = false, centered = false;
  f32 epsilon = 0.0f;
  bool has_bias = false;
  Tensor scale = {}, bias = {};  // empty where a run brings them
  Layout layout = Layout::linear;
};

std::string read(const LowerRequest& request, RowsRequest& rows) {
  if (request.constant(kX) != nullptr) return "the input is a constant";
  const Dtype x = request.inputs[kX].dtype;
  if (x != Dtype::f32 && !is_code(x)) return "the input is neither f32 nor codes";
  if (request.outputs.size() != 1) return "the statistics are outputs too";
  const Dtype y = request.outputs[0].dtype;
  if (y != Dtype::f32 && !is_code(y)) return "the output is neither f32 nor codes";
  for (size_t i = kScale; i < request.inputs.size(); ++i) {
    if (!request.has_input(i)) continue;
    if (request.inputs[i].dtype != Dtype::f32) return "scale or bias is not f32";
    if (const Tensor* constant = request.constant(i))
      (i == kScale ? rows.scale : rows.bias) = *constant;
  }
  rows.has_bias = request.has_input(kBias);
  return {};
}

// Rows of all that follows an axis.
void set_rows(RowsRequest& rows, const Shape& shape, int axis) {
  rows.count = dims_product(shape, axis, shape.rank());
  rows.rows = rows.count == 0 ? 0 : shape.elements() / rows.count;
}

void set_codes(KernelSource& source, const LowerRequest& request) {
  const Dtype x = request.inputs[kX].dtype, y = request.outputs[0].dtype;
  source.set("X_CODES", s64{is_code(x)});
  source.set("Y_CODES", s64{is_code(y)});
  if (!is_code(y)) return;
  const Epilogue epilogue = epilogue_of(request.node);
  const RowScales scales = row_scales(request.node);
  source.set("X_S8", s64{x == Dtype::s8});
  source.set("X_SCALE", scales.x);
  source.set("ZP_X", s64{epilogue.zero_point(kX)});
  source.set("Y_SCALE", scales.y), source.set("Y_RECIPROCAL", reciprocal_of(scales.y));
  source.set("ZP_Y", s64{epilogue.range.zero_point});
  source.set("LO", s64{epilogue.range.lo});
  source.set("HI", s64{epilogue.range.hi});
}

constexpr s64 kStepOfPairs = 16;
constexpr s64 kLanesOfPairs = 8;  // threads that have all of a step

// Whether kernels/norm_pairs.cu takes it: rows of whole 16 elements, few enough to keep.
bool takes_pairs(const RowsRequest& rows) {
  constexpr s64 kMost = 1024;
  return !rows.softmax && rows.inner == 1 && rows.channels == 0 && rows.count % kStepOfPairs == 0 &&
         rows.count <= kMost;
}

// Whether it may load several elements at once from where values lie.
bool pairs_are_aligned(const BindArgs& bind) {
  constexpr s64 kAccess = 16;  // bytes, of four parameters
  bool aligned = bind.output_offset(0) % kAccess == 0;
  for (const s64 offset : bind.input_offsets) aligned = aligned && offset % kAccess == 0;
  return aligned;
}

// Threads of a row. Sixteen; of short rows as many as have an element: what the others add to a sum of powers, or to a maximum, changes nothing.
s64 lanes_of(const RowsRequest& rows) {
  constexpr s64 kLanes = 16;
  if (!rows.softmax || rows.inner != 1) return kLanes;
  return std::min<s64>(kLanes, static_cast<s64>(std::bit_ceil(static_cast<u64>(rows.count))));
}

// Of a block. Few rows are spread over all multiprocessors, a warp at least.
s64 threads_of(const RowsRequest& rows, s64 lanes, const Chip& chip) {
  constexpr s64 kMost = 128, kLeast = 32;
  if (rows.inner != 1) return 2 * kMost;
  s64 threads = kMost;
  while (threads > kLeast && rows.rows * lanes < threads * chip.multiprocessors) threads /= 2;
  return threads;
}

// `parts`: eights of threads that share a row of kernels/norm_pairs.cu; 0: kernels/rows.cu.
Launch launch_of(const LowerRequest& request, const RowsRequest& rows, s64 parts) {
  constexpr s64 kMostKept = 64;
  const s64 lanes = parts > 0 ? kLanesOfPairs * parts : lanes_of(rows);
  const s64 kept = ceil_div(rows.count, lanes);
  const s64 threads = threads_of(rows, lanes, device_of(request).chip());
  Launch launch{.source = {parts > 0 ? "norm_pairs" : "rows", {}}, .shape = {}};
  KernelSource& source = launch.source;
  source.set("ROWS", rows.rows), source.set("COUNT", rows.count), source.set("INNER", rows.inner);
  source.set("SOFTMAX", s64{rows.softmax}), source.set("CENTERED", s64{rows.centered});
  source.set("CHANNELS", rows.channels), source.set("ROW_CHANNELS", rows.group);
  source.set("EPSILON", rows.epsilon);
  source.set("BIAS", s64{rows.has_bias});
  source.set("CONSTANTS", s64{rows.scale && (rows.bias || !rows.has_bias)});
  source.set("LANES", lanes), source.set("PARTS", parts);
  source.set("BLOCK_ROWS", threads / lanes);
  source.set("LANES_FIRST", s64{rows.inner == 1});
  source.set("KEPT", kept <= kMostKept ? kept : 0);
  set_codes(source, request);
  launch.shape = {.blocks = ceil_div(rows.rows * lanes, threads),
                  .threads = static_cast<int>(threads),
                  .programmatic_dependent = true};
  return launch;
}

std::vector<BlobRecipe> blobs(const RowsRequest& rows) {
  std::vector<BlobRecipe> all;
  if (rows.scale) all.push_back(constant_blob(rows.scale));
  if (rows.bias) all.push_back(constant_blob(rows.bias));
  return all;
}

// Of kernels/norm_pairs.cu in cycles, a fit to rows of 768: a warp alone waits for itself, several share a scheduler.
f64 pairs_cycles(const RowsRequest& rows, s64 parts, const Chip& chip) {
  const Costs& costs = chip.costs();
  constexpr s64 kWarp = 32, kSchedulers = 4;
  const f64 count = static_cast<f64>(rows.count) / kLanesOfPairs;
  const f64 sums = parts > 1 ? count * costs.norm_pairs_sums : 0.0;
  const f64 instructions =
      count / static_cast<f64>(parts) * costs.norm_pairs_element + sums + costs.norm_pairs_row;
  const s64 warps =
      ceil_div(rows.rows * kLanesOfPairs * parts, kWarp * kSchedulers * s64{chip.multiprocessors});
  return instructions *
         std::max(costs.norm_pairs_alone, costs.norm_pairs_beside * static_cast<f64>(warps));
}

Candidate candidate_for(const LowerRequest& request, const RowsRequest& rows, s64 parts) {
  std::string name = rows.name;
  if (request.outputs[0].dtype == Dtype::f32) name += "_f32";
  if (parts > 1) name += fmt::format("_x{}", parts);
  Candidate candidate = candidate_of(request, name, rows.layout);
  for (size_t i = kScale; i < candidate.inputs.size(); ++i) candidate.inputs[i] = Layout::linear;
  const Chip& chip = device_of(request).chip();
  candidate.cost = bytes_cost(moved_bytes(request), chip);
  if (parts > 0) candidate.cost += pairs_cycles(rows, parts, chip);
  const Launch plain = launch_of(request, rows, 0), pairs = launch_of(request, rows, parts);
  set_step(
      candidate, device_of(request),
      {.make_launch =
           [plain, pairs](const BindArgs& bind) { return pairs_are_aligned(bind) ? pairs : plain; },
       .recipes = [rows](const BindArgs&) { return blobs(rows); }},
      [rows, parameters = request.node.inputs.size()](const StepData& data) {
        size_t blob = 0;
        const auto parameter = [&](size_t i, const Tensor& constant) -> const f32* {
          if (constant) return data.blob<f32>(blob++);
          return i < parameters ? reinterpret_cast<const f32*>(data.input(i)) : nullptr;
        };
        params::RowsParams p{data.input(kX), parameter(kScale, rows.scale), nullptr, data.output()};
        p.bias = parameter(kBias, rows.bias);
        return p;
      });
  return candidate;
}

Offer offer(const LowerRequest& request, const RowsRequest& rows) {
  if (rows.rows == 0 || rows.count == 0) return Reject{"there is nothing to compute"};
  if (!takes_pairs(rows)) return candidate_for(request, rows, 0);
  Candidates candidates;
  for (const s64 parts : {1, 2, 4}) {
    if (rows.count % (kStepOfPairs * parts) == 0)
      candidates.push_back(candidate_for(request, rows, parts));
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::cost);
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  if (!measured) candidates.resize(1);
  return candidates;
}

// One value for each channel, of one for each or one for each group (opset 18).
Tensor for_channels(const Tensor& values, s64 channels) {
  const size_t each = static_cast<size_t>(channels / values.elements());
  Tensor all(Dtype::f32, {channels});
  const std::span<f32> to = all.mutable_as<f32>();
  for (size_t c = 0; c < to.size(); ++c) to[c] = values.as<f32>()[c / each];
  return all;
}

}  // namespace

Offer lower_softmax(const LowerRequest& request) {
  RowsRequest rows{.name = "softmax", .softmax = true};
  if (std::string reason = read(request, rows); !reason.empty()) return Reject{reason};
  const SoftmaxGeometry g = softmax_geometry(request.node, request.inputs[kX].shape);
  rows.rows = g.outer * g.inner;
  rows.count = g.count;
  rows.inner = g.inner;
  return offer(request, rows);
}

Offer lower_layer_norm(const LowerRequest& request) {
  RowsRequest rows{.name = "layer_norm", .centered = true};
  if (std::string reason = read(request, rows); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[kX].shape;
  set_rows(rows, shape, layer_norm_axis(request.node, shape));
  rows.epsilon = request.node.attrs.f("epsilon", 1e-5f);
  return offer(request, rows);
}

Offer lower_rms_norm(const LowerRequest& request) {
  RowsRequest rows{.name = "rms_norm"};
  if (std::string reason = read(request, rows); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[kX].shape;
  set_rows(rows, shape, normalize_axis(request.node.attrs.i("axis", -1), shape.rank()));
  rows.epsilon = request.node.attrs.f("epsilon", 1e-5f);
  return offer(request, rows);
}

// Of each channel of each image; the channels of a pixel lie together in nhwc.
Offer lower_instance_norm(const LowerRequest& request) {
  RowsRequest rows{.name = "instance_norm", .centered = true};
  if (std::string reason = read(request, rows); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[kX].shape;
  rows.layout = common_layout(request);
  set_rows(rows, shape, 2);
  rows.channels = shape[1];
  if (rows.layout == Layout::nhwc) rows.inner = rows.channels;
  rows.epsilon = request.node.attrs.f("epsilon", 1e-5f);
  return offer(request, rows);
}

// A group's channels lie side by side, and so does what scales them: a row.
Offer lower_group_norm(const LowerRequest& request) {
  RowsRequest rows{.name = "group_norm", .centered = true};
  if (std::string reason = read(request, rows); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[kX].shape;
  for (size_t i : {kScale, kBias}) {
    if (request.constant(i) == nullptr && request.inputs[i].shape.elements() != shape[1])
      return Reject{"a run brings one scale or bias for several channels"};
  }
  const s64 groups = request.node.attrs.i("num_groups");
  if (shape.elements() == 0) return Reject{"there is nothing to compute"};
  rows.channels = shape[1];
  rows.group = shape[1] / groups;
  rows.rows = shape[0] * groups;
  rows.count = shape.elements() / rows.rows;
  if (rows.scale) rows.scale = for_channels(rows.scale, rows.channels);
  if (rows.bias) rows.bias = for_channels(rows.bias, rows.channels);
  rows.epsilon = request.node.attrs.f("epsilon", 1e-5f);
  return offer(request, rows);
}

}  // namespace octet::cuda
