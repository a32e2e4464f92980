// SPDX-License-Identifier: Apache-2.0
// Means, sums, products and extremes over any axes.
#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <optional>

#include "backends/cuda/families/reduce/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/element_type.h"
#include "backends/cuda/lower/halves.h"
#include "backends/cuda/lower/integers.h"
#include "backends/cuda/lower/product.h"
#include "core/divide.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/mean_scales.h"
#include "ops/shared/axes.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using reduce::Operation;
using reduce::Spec;

struct ReduceStep {
  TensorType x, y;
  std::vector<bool> reduced = {};  // of each axis of x
  bool keep = true;                // reduced axes remain in y, with one element
  Operation operation = Operation::sum;
  Dtype rounded = Dtype::f32;
  bool last = false;
  reduce::Mean mean = {};

  s64 count() const {
    s64 product = 1;
    for (size_t d = 0; d < reduced.size(); ++d)
      product *= reduced[d] ? x.shape[static_cast<int>(d)] : 1;
    return product;
  }
};

struct Axis {
  s64 size = 1, x = 0, y = 0;
};

struct Axes {
  std::vector<Axis> kept, reduced;
  Axis inner{.size = 1, .x = 1, .y = 1};  // kept, its neighbours lie together in x
  bool has_inner = false;
};

void append(std::vector<Axis>& axes, const Axis& axis) {
  Axis* last = axes.empty() ? nullptr : &axes.back();
  if (last != nullptr && last->x == axis.size * axis.x && last->y == axis.size * axis.y) {
    *last = {last->size * axis.size, axis.x, axis.y};
  } else {
    axes.push_back(axis);
  }
}

Axes axes_of(const ReduceStep& step, const BindArgs& bind) {
  const std::vector<s64> x = strides_of(step.x.shape, bind.inputs[0]);
  const std::vector<s64> y = strides_of(step.y.shape, bind.outputs[0]);
  const bool one_by_one = is_one_by_one(number_type(step.x.dtype), step.operation);
  Axes axes;
  size_t at = 0;  // axis of y
  for (size_t d = 0; d < x.size(); ++d) {
    const s64 size = step.x.shape[static_cast<int>(d)];
    const bool reduced = step.reduced[d];
    const Axis axis{size, x[d], reduced ? 0 : y[at]};
    if (!reduced || step.keep) ++at;
    if (size == 1) continue;
    if (!reduced && axis.x == 1 && !one_by_one) {
      axes.inner = axis;
      axes.has_inner = true;
    } else {
      append(reduced ? axes.reduced : axes.kept, axis);
    }
  }
  return axes;
}

s64 product_of(const std::vector<Axis>& axes) {
  s64 product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}

s64 widest_vector(const Axes& axes, s64 bytes, s64 offset) {
  s64 vector = common_power(16 / bytes, {axes.inner.size, offset / bytes});
  for (const std::vector<Axis>* list : {&axes.kept, &axes.reduced}) {
    for (const Axis& axis : *list) vector = common_power(vector, {axis.x});
  }
  return vector;
}

// What a block takes of the inner axis (vectors side by side), how many threads share the elements of a row, and what each of them loads at once.
struct Split {
  s64 vector = 1, columns = 16, lanes = reduce::kLanesOfReals, loads = 0;
};

s64 blocks_of(const Axes& axes, const Split& split) {
  return product_of(axes.kept) * ceil_div(axes.inner.size / split.vector, split.columns);
}

// What a thread asks for at once, in four turns: what its row has for it, or its part of the shared memory that a block takes. None where vectors are less than words.
s64 loads_of(const Axes& axes, const Split& split, s64 bytes) {
  constexpr s64 kShared = 32 << 10, kWord = 4;
  const s64 vector = split.vector * bytes;
  if (vector < kWord) return 0;
  const s64 each = ceil_div(product_of(axes.reduced), split.lanes);
  const s64 most = kShared / (split.lanes * split.columns * vector);
  return std::max<s64>(1, std::min(ceil_div(each, s64{reduce::kStages}), most / reduce::kStages));
}

// Sums of reals have 16 lanes for each output and no more. Rather more blocks than wider loads, down to a sector of memory for each.
Split fixed_split(const Axes& axes, s64 bytes, s64 offset, s64 multiprocessors) {
  constexpr s64 kSector = 32, kWord = 4;
  Split split{.vector = widest_vector(axes, bytes, offset)};
  while (split.vector * bytes > kWord && blocks_of(axes, split) < multiprocessors)
    split.vector /= 2;
  split.columns =
      std::min(split.columns,
               static_cast<s64>(std::bit_ceil(static_cast<u64>(axes.inner.size / split.vector))));
  while (split.columns * split.vector * bytes > kSector &&
         blocks_of(axes, split) < 2 * multiprocessors)
    split.columns /= 2;
  split.loads = loads_of(axes, split, bytes);
  return split;
}

// Where the order is free: wide loads, narrow blocks, and of a long row so many lanes that one block keeps a multiprocessor busy.
Split free_split(const Axes& axes, s64 sum_bytes, s64 bytes, s64 offset, s64 multiprocessors) {
  constexpr s64 kWide = 16, kFewest = 64, kMost = 512, kShared = 32 << 10;
  Split split{.vector = widest_vector(axes, bytes, offset)};
  const auto vectors = static_cast<u64>(axes.inner.size / split.vector);
  split.columns = std::min(split.columns, static_cast<s64>(std::bit_ceil(vectors)));
  while (split.columns > 1 && split.columns * split.vector * bytes > kWide &&
         blocks_of(axes, split) < multiprocessors)
    split.columns /= 2;
  const s64 most = std::min(kMost, kShared / (sum_bytes * split.vector));
  const auto wanted = static_cast<s64>(
      std::bit_ceil(static_cast<u64>(split.columns * ceil_div(product_of(axes.reduced), 4))));
  split.lanes = std::clamp(wanted, kFewest, most) / split.columns;
  return split;
}

Split split_of(const Axes& axes, const ReduceStep& step, s64 offset, s64 multiprocessors) {
  const ElementType element = number_type(step.x.dtype);
  const s64 bytes = element_bytes(element);
  if (!axes.has_inner)
    return {.lanes = is_one_by_one(element, step.operation) ? 1 : reduce::kLanesOfReals};
  return reduce::has_any_order(element)
             ? free_split(axes, reduce::sum_bytes(element, step.operation), bytes, offset,
                          multiprocessors)
             : fixed_split(axes, bytes, offset, multiprocessors);
}

Launch make_launch(const CudaDevice& device, const ReduceStep& step, const BindArgs& bind) {
  const Axes axes = axes_of(step, bind);
  const ElementType element = number_type(step.x.dtype);
  const Split split = split_of(axes, step, bind.input_offset(0), device.chip().multiprocessors);
  Spec spec{.operation = step.operation,
            .element = element,
            .out = number_type(step.y.dtype),
            .rounded = number_type(step.rounded),
            .last = step.last,
            .mean = step.mean,
            .kept = {},
            .reduced = {},
            .count = field_of(step.count()),
            .has_inner = axes.has_inner,
            .inner = field_of(axes.inner.size),
            .y_inner = axes.inner.y,
            .vec = field_of(split.vector),
            .columns = field_of(split.columns),
            .lanes = field_of(split.lanes),
            .loads = field_of(split.loads)};
  for (size_t d = axes.kept.size(); d-- > 0;)
    append(spec.kept, {field_of(axes.kept[d].size), axes.kept[d].x, axes.kept[d].y});
  for (size_t d = axes.reduced.size(); d-- > 0;)
    append(spec.reduced, {field_of(axes.reduced[d].size), axes.reduced[d].x});
  // Not before its predecessor has ended: means that begin early made EfficientNet-b0 8 % slower at batch 32 and 18 % at batch 1 (an H200), and no network faster.
  return {.source = source_of("reduce", spec),
          .shape = {.blocks = blocks(spec), .threads = threads(spec)}};
}

std::string read(const LowerRequest& request, const std::vector<s64>& axes, ReduceStep& step) {
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (step.x.shape.elements() == 0) return "there is nothing to compute";
  step.keep = attribute_of<&ReduceAttributes::keepdims>(request.node);
  step.reduced.assign(static_cast<size_t>(step.x.shape.rank()), axes.empty());
  for (const int axis : normalize_axes(axes, step.x.shape.rank()))
    step.reduced[static_cast<size_t>(axis)] = true;
  constexpr s64 kMost = 1 << 22;  // codes whose sum fits s32
  if (step.count() > kMost) return "more than 2^22 elements make one";
  if (step.y.shape.elements() >= std::numeric_limits<s32>::max()) return "it has 2^31 elements";
  return {};
}

Offer candidate_for(const LowerRequest& request, const char* kernel, ReduceStep step) {
  const std::vector<bool> pixels{false, false, true, true};
  Candidate candidate = candidate_of(request, kernel, Layout::linear);
  candidate.inputs[0] = request.layouts[0];
  // What convolutions after it read.
  if (step.reduced == pixels && request.outputs[0].shape.rank() == 4)
    candidate.outputs[0] = Layout::nhwc;
  candidate.strided = true;
  const CudaDevice& device = device_of(request);
  set_step(candidate, device,
           {.make_launch =
                [&device, step](const BindArgs& bind) { return make_launch(device, step, bind); }},
           [](const StepData& data) {
             return reduce::Params{data.input(0), data.output()};
           });
  return candidate;
}

// None where the kernel has no such operation on the type.
std::optional<Operation> operation_of(std::string_view op, Dtype dtype) {
  struct Named {
    std::string_view op;
    Operation operation;
    bool of_integers;
  };
  constexpr Named kOperations[] = {{"ArgMax", Operation::place_of_largest, true},
                                   {"ArgMin", Operation::place_of_smallest, true},
                                   {"ReduceL1", Operation::sum_of_magnitudes, false},
                                   {"ReduceL2", Operation::norm, false},
                                   {"ReduceMax", Operation::largest, true},
                                   {"ReduceMean", Operation::mean, false},
                                   {"ReduceMin", Operation::smallest, true},
                                   {"ReduceProd", Operation::product, true},
                                   {"ReduceSum", Operation::sum, true},
                                   {"ReduceSumSquare", Operation::sum_of_squares, false}};
  const auto found = std::ranges::find(kOperations, op, &Named::op);
  if (found == std::end(kOperations)) return std::nullopt;
  if (dtype == Dtype::f32 || (is_integer(dtype) && found->of_integers)) return found->operation;
  return std::nullopt;
}

// Of ArgMax and ArgMin the attribute `axis`, else the constant input 1; why they are not known.
std::string read_axes(const LowerRequest& request, std::vector<s64>& axes) {
  if (request.node.op->name.starts_with("Arg")) {
    axes = {attribute_of<&ArgExtremeAttributes::axis>(request.node)};
    return {};
  }
  const Tensor* given = request.has_input(1) ? request.constant(1) : nullptr;
  if (request.has_input(1) && (given == nullptr || given->dtype() != Dtype::s64))
    return "the axes are not constant";
  if (given != nullptr) axes.assign(given->as<s64>().begin(), given->as<s64>().end());
  if (axes.empty() && attribute_of<&ReduceAttributes::noop_with_empty_axes>(request.node))
    return "no axis is reduced";
  return {};
}

}  // namespace

Offer lower_mean_codes(const LowerRequest& request) {
  ReduceStep step{.x = request.inputs[0], .y = request.outputs[0]};
  const auto axes = attribute_of<&QReduceMeanAttributes::axes>(request.node);
  if (std::string reason = read(request, axes.value_or(std::vector<s64>{}), step); !reason.empty())
    return Reject{reason};
  if (axes && axes->empty()) return Reject{"no axis is reduced"};
  const Epilogue epilogue = epilogue_of(request.node);
  const Activation& activation = epilogue.activation;
  step.operation = Operation::mean_codes;
  step.mean = {.zero = field_of(step.count() * epilogue.zero_point(0)),
               .multiplier = bits_of(mean_scales(request.node).multiplier(step.count())),
               .leaky = activation.kind == Activation::Kind::leaky_relu,
               .alpha = bits_of(activation.alpha),
               .zero_point = epilogue.range.zero_point,
               .lo = epilogue.range.lo,
               .hi = epilogue.range.hi};
  return candidate_for(request, "mean_codes", std::move(step));
}

namespace {

// `node` is the request of the node itself, whose x and y may lie in 16 bits.
Offer reduction(const LowerRequest& request, const LowerRequest& node, const HalfEnds& ends) {
  const Dtype dtype = node.inputs[0].dtype;
  std::vector<s64> axes;
  if (std::string reason = read_axes(node, axes); !reason.empty()) return Reject{reason};
  ReduceStep step{.x = node.inputs[0], .y = node.outputs[0]};
  if (std::string reason = read(node, axes, step); !reason.empty()) return Reject{reason};
  const std::optional<Operation> operation = operation_of(node.node.op->name, dtype);
  if (!operation) return Reject{fmt::format("reducing {} is left to the CPU", dtype_name(dtype))};
  step.operation = *operation;
  step.last = attribute_of<&ArgExtremeAttributes::select_last_index>(node.node);
  if (is_chain(request.node))
    step.x.dtype = ends.x, step.y.dtype = ends.y, step.rounded = ends.rounded;
  return candidate_for(request, dtype == Dtype::f32 ? "reduce_reals" : "reduce_integers",
                       std::move(step));
}

}  // namespace

Offer lower_reduce(const LowerRequest& request) { return reduction(request, request, {}); }

Offer offer_half_reduction(const LowerRequest& request) {
  const HalfEnds ends = half_ends(request);
  Offer offer = reduction(request, part_request(request, ends.part), ends);
  if (Candidate* candidate = std::get_if<Candidate>(&offer))
    candidate->cost = cost_by_bytes(request);
  return offer;
}

}  // namespace octet::cuda
