// SPDX-License-Identifier: Apache-2.0
// Softmax and the normalizations of rows, of reals and of codes, by the kernels of rows and of norm_pairs.
#include <algorithm>
#include <bit>

#include "backends/cuda/families/norm_pairs/spec.h"
#include "backends/cuda/families/rows/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/rows.h"
#include "core/divide.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"
#include "ops/shared/layer_norm.h"
#include "ops/shared/softmax.h"

namespace octet::cuda {
namespace {

using rows::Operation;
using rows::Spec;

enum : size_t { kX, kScale, kBias };

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
  rows.values = row_values(request);
  return {};
}

// Rows of all that follows an axis.
void set_rows(RowsRequest& rows, const Shape& shape, int axis) {
  rows.count = dims_product(shape, axis, shape.rank());
  rows.rows = rows.count == 0 ? 0 : shape.elements() / rows.count;
}

// Threads of a row. Sixteen; of short rows as many as have an element: what the others add to a sum of powers, or to a maximum, changes nothing.
s64 lanes_of(const RowsRequest& rows) {
  constexpr s64 kLanes = 16;
  if (!rows.softmax || rows.inner != 1) return kLanes;
  return std::min<s64>(kLanes, static_cast<s64>(std::bit_ceil(static_cast<u64>(rows.count))));
}

Launch rows_launch(const RowsRequest& rows, const Chip& chip) {
  constexpr s64 kMostKept = 64;
  const s64 lanes = lanes_of(rows), kept = ceil_div(rows.count, lanes);
  const s64 block = row_block_threads(rows, lanes, chip);
  const Spec spec{.operation = rows.softmax    ? Operation::softmax
                               : rows.centered ? Operation::centered
                                               : Operation::not_centered,
                  .values = rows.values,
                  .rows = rows.rows,
                  .count = field_of(rows.count),
                  .inner = rows.inner,
                  .channels = field_of(rows.channels),
                  .group_channels = field_of(rows.group),
                  .epsilon = bits_of(rows.epsilon),
                  .bias = rows.has_bias,
                  .lanes = field_of(lanes),
                  .block_rows = field_of(block / lanes),
                  .lanes_first = rows.inner == 1,
                  .kept = kept <= kMostKept ? field_of(kept) : 0};
  return {
      .source = source_of("rows", spec),
      .shape = {.blocks = blocks(spec), .threads = threads(spec), .programmatic_dependent = true}};
}

std::vector<BlobRecipe> blobs(const RowsRequest& rows) {
  std::vector<BlobRecipe> all;
  if (rows.scale) all.push_back(constant_blob(rows.scale));
  if (rows.bias) all.push_back(constant_blob(rows.bias));
  return all;
}

Candidate candidate_for(const LowerRequest& request, const RowsRequest& rows, s64 parts) {
  std::string name = rows.name;
  if (!rows.values.y_codes) name += fmt::format("_{}", dtype_name(request.outputs.back().dtype));
  if (rows.values.codes_too) name += "_codes";
  if (parts > 1) name += fmt::format("_x{}", parts);
  Candidate candidate = candidate_of(request, name, rows.layout);
  for (size_t i = kScale; i < candidate.inputs.size(); ++i) candidate.inputs[i] = Layout::linear;
  const Chip& chip = device_of(request).chip();
  candidate.cost = bytes_cost(moved_bytes(request), chip);
  if (parts > 0) candidate.cost += pairs_cycles(rows, parts, chip);
  const Launch plain = rows_launch(rows, chip);
  const Launch pairs = parts > 0 ? pairs_launch(rows, parts, chip) : plain;
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
        RowsParams p{};
        p.x = data.input(rows.x_input), p.y = data.output();
        if (rows.values.codes_too) p.codes = p.y, p.y = data.output(1);
        if (rows.values.sum.exists) p.added = data.input(rows.added_input);
        p.scale = parameter(kScale, rows.scale);
        p.bias = parameter(kBias, rows.bias);
        return p;
      });
  return candidate;
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

Offer rows_offer(const LowerRequest& request, const RowsRequest& rows) {
  constexpr s64 kMost = (s64{1} << 31) - 16;  // lanes count beyond the last element
  if (rows.rows == 0 || rows.count == 0) return Reject{"there is nothing to compute"};
  if (rows.count >= kMost) return Reject{"a row has 2^31 elements"};
  if (rows.channels >= kMost) return Reject{"an image has 2^31 channels"};
  if (!takes_pairs(rows)) return candidate_for(request, rows, 0);
  Candidates candidates;
  for (const s64 parts : norm_pairs::kPartCounts) {
    if (takes_parts(rows, parts)) candidates.push_back(candidate_for(request, rows, parts));
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::cost);
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  if (!measured) candidates.resize(1);
  return candidates;
}

s64 row_block_threads(const RowsRequest& rows, s64 lanes, const Chip& chip) {
  constexpr s64 kMost = 128, kLeast = 32;
  if (rows.inner != 1) return 2 * kMost;
  s64 threads = kMost;
  while (threads > kLeast && rows.rows * lanes < threads * chip.multiprocessors) threads /= 2;
  return threads;
}

namespace {

void read_softmax(const LowerRequest& request, RowsRequest& rows) {
  const SoftmaxGeometry g = softmax_geometry(request.node, request.inputs[kX].shape);
  rows.name = "softmax", rows.softmax = true;
  rows.rows = g.outer * g.inner;
  rows.count = g.count;
  rows.inner = g.inner;
}

void read_norm(const LowerRequest& request, RowsRequest& rows) {
  const Shape& shape = request.inputs[kX].shape;
  rows.centered = request.node.op->name != "RMSNormalization";
  rows.name = rows.centered ? "layer_norm" : "rms_norm";
  set_rows(rows, shape,
           rows.centered ? layer_norm_axis(request.node, shape)
                         : normalize_axis(attribute_of<&RowNormAttributes::axis>(request.node),
                                          shape.rank()));
  rows.epsilon = attribute_of<&NormAttributes::epsilon>(request.node);
}

Offer offer_of(const LowerRequest& request, RowsRequest rows) {
  if (std::string reason = read_rows(request, rows); !reason.empty()) return Reject{reason};
  return rows_offer(request, rows);
}

}  // namespace

std::string read_rows(const LowerRequest& request, RowsRequest& rows) {
  if (std::string reason = read(request, rows); !reason.empty()) return reason;
  const std::string_view op = request.node.op->name;
  op == "Softmax" || op == "QSoftmax" ? read_softmax(request, rows) : read_norm(request, rows);
  return {};
}

Offer lower_softmax(const LowerRequest& request) { return offer_of(request, {}); }
Offer lower_layer_norm(const LowerRequest& request) { return offer_of(request, {}); }
Offer lower_rms_norm(const LowerRequest& request) { return offer_of(request, {}); }

// Of each channel of each image; the channels of a pixel lie together in nhwc.
Offer lower_instance_norm(const LowerRequest& request) {
  RowsRequest rows{.name = "instance_norm", .centered = true};
  if (std::string reason = read(request, rows); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[kX].shape;
  rows.layout = common_layout(request);
  set_rows(rows, shape, 2);
  rows.channels = shape[1];
  if (rows.layout == Layout::nhwc) rows.inner = rows.channels;
  rows.epsilon = attribute_of<&NormAttributes::epsilon>(request.node);
  return rows_offer(request, rows);
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
  const s64 groups = attribute_of<&GroupNormAttributes::num_groups>(request.node);
  if (shape.elements() == 0) return Reject{"there is nothing to compute"};
  rows.channels = shape[1];
  rows.group = shape[1] / groups;
  rows.rows = shape[0] * groups;
  rows.count = shape.elements() / rows.rows;
  if (rows.scale) rows.scale = for_channels(rows.scale, rows.channels);
  if (rows.bias) rows.bias = for_channels(rows.bias, rows.channels);
  rows.epsilon = attribute_of<&NormAttributes::epsilon>(request.node);
  return rows_offer(request, rows);
}

}  // namespace octet::cuda
