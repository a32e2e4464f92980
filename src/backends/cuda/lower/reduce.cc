// SPDX-License-Identifier: Apache-2.0
// Means, sums, products and extremes over any axes: kernels/reduce.cu.
#include <algorithm>
#include <bit>
#include <limits>

#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/integers.h"
#include "backends/cuda/lower/product.h"
#include "backends/cuda/lower/walk.h"
#include "core/divide.h"
#include "ops/quantized/mean_scales.h"
#include "ops/shared/axes.h"

namespace octet::cuda {
namespace {

// How elements become one, as text of CUDA.
struct Combination {
  std::string type = {};     // of what is combined
  std::string value = "x";   // of element x, number i of its row
  std::string first = "0";   // where there is none
  std::string combine = {};  // of a and b
  std::string finish = "sum";
  bool one_by_one = false;  // in the order of the row
  bool any_order = false;   // has the same bits
};

struct ReduceStep {
  TensorType x, y;
  std::vector<bool> reduced = {};  // of each axis of x
  bool keep = true;                // reduced axes remain in y, with one element
  Combination combination = {};

  s64 count() const {
    s64 product = 1;
    for (size_t d = 0; d < reduced.size(); ++d)
      product *= reduced[d] ? x.shape[static_cast<int>(d)] : 1;
    return product;
  }
};

struct ReduceAxis {
  s64 size = 1, x = 0, y = 0;
};

struct Axes {
  std::vector<ReduceAxis> kept, reduced;
  ReduceAxis inner{.size = 1, .x = 1, .y = 1};  // kept, its neighbours lie together in x
  bool has_inner = false;
};

void append(std::vector<ReduceAxis>& axes, const ReduceAxis& axis) {
  ReduceAxis* last = axes.empty() ? nullptr : &axes.back();
  if (last != nullptr && last->x == axis.size * axis.x && last->y == axis.size * axis.y) {
    *last = {last->size * axis.size, axis.x, axis.y};
  } else {
    axes.push_back(axis);
  }
}

Axes axes_of(const ReduceStep& step, const BindArgs& bind) {
  const std::vector<s64> x = strides_of(step.x.shape, bind.inputs[0]);
  const std::vector<s64> y = strides_of(step.y.shape, bind.outputs[0]);
  Axes axes;
  size_t at = 0;  // axis of y
  for (size_t d = 0; d < x.size(); ++d) {
    const s64 size = step.x.shape[static_cast<int>(d)];
    const bool reduced = step.reduced[d];
    const ReduceAxis axis{size, x[d], reduced ? 0 : y[at]};
    if (!reduced || step.keep) ++at;
    if (size == 1) continue;
    if (!reduced && axis.x == 1 && !step.combination.one_by_one) {
      axes.inner = axis;
      axes.has_inner = true;
    } else {
      append(reduced ? axes.reduced : axes.kept, axis);
    }
  }
  return axes;
}

s64 product_of(const std::vector<ReduceAxis>& axes) {
  s64 product = 1;
  for (const ReduceAxis& axis : axes) product *= axis.size;
  return product;
}

s64 widest_vector(const Axes& axes, s64 bytes, s64 offset) {
  s64 vector = common_power(16 / bytes, {axes.inner.size, offset / bytes});
  for (const std::vector<ReduceAxis>* list : {&axes.kept, &axes.reduced}) {
    for (const ReduceAxis& axis : *list) vector = common_power(vector, {axis.x});
  }
  return vector;
}

// What a block takes of the inner axis (vectors side by side), and how many threads share the elements of a row.
struct Split {
  s64 vector = 1, columns = 16, lanes = 16;
};

s64 blocks_of(const Axes& axes, const Split& split) {
  return product_of(axes.kept) * ceil_div(axes.inner.size / split.vector, split.columns);
}

// Sums of reals have 16 lanes.
Split fixed_split(const Axes& axes, s64 bytes, s64 offset, s64 multiprocessors) {
  Split split{.vector = widest_vector(axes, bytes, offset)};
  // Rather more blocks than wider loads.
  while (split.vector > 4 / bytes && split.vector > 1 && blocks_of(axes, split) < multiprocessors)
    split.vector /= 2;
  return split;
}

// Where the order is free: wide loads, narrow blocks, and of a long row so many lanes that one block keeps a multiprocessor busy.
Split free_split(const Axes& axes, const Combination& combination, s64 bytes, s64 offset,
                 s64 multiprocessors) {
  constexpr s64 kWide = 16, kFewest = 64, kMost = 512, kShared = 32 << 10;
  Split split{.vector = widest_vector(axes, bytes, offset)};
  const auto vectors = static_cast<u64>(axes.inner.size / split.vector);
  split.columns = std::min(split.columns, static_cast<s64>(std::bit_ceil(vectors)));
  while (split.columns > 1 && split.columns * split.vector * bytes > kWide &&
         blocks_of(axes, split) < multiprocessors)
    split.columns /= 2;
  const s64 sum_bytes = combination.type == "Ranked"       ? 16
                        : combination.type.ends_with("64") ? 8
                                                           : 4;  // at most
  const s64 most = std::min(kMost, kShared / (sum_bytes * split.vector));
  const auto wanted = static_cast<s64>(
      std::bit_ceil(static_cast<u64>(split.columns * ceil_div(product_of(axes.reduced), 4))));
  split.lanes = std::clamp(wanted, kFewest, most) / split.columns;
  return split;
}

Launch make_launch(const CudaDevice& device, const ReduceStep& step, const BindArgs& bind) {
  const Axes axes = axes_of(step, bind);
  const s64 bytes = static_cast<s64>(dtype_bytes(step.x.dtype));
  const bool is_free = step.combination.any_order && axes.has_inner;
  const s64 offset = bind.input_offset(0), chip = device.chip().multiprocessors;
  const Split split = is_free ? free_split(axes, step.combination, bytes, offset, chip)
                              : fixed_split(axes, bytes, offset, chip);
  const s64 outers = product_of(axes.kept);
  Launch launch{.source = {"reduce", {}}, .shape = {}};
  KernelSource& source = launch.source;
  source.set("ELEMENT", kernel_type(step.x.dtype));
  source.set("OUT", kernel_type(step.y.dtype));
  const Combination& combination = step.combination;
  const s64 lanes = combination.one_by_one ? 1 : split.lanes;
  source.set("SUM", combination.type);
  source.set("VALUE", combination.value), source.set("FIRST", combination.first);
  source.set("COMBINE", combination.combine), source.set("FINISH", combination.finish);
  source.set("LANES", lanes), source.set("COLUMNS", split.columns);
  source.set("UNROLL", s64{is_free ? 8 : 4});
  std::string outer, reduced;
  for (size_t d = axes.kept.size(); d-- > 0;)
    outer += fmt::format("X({},{},{}) ", axes.kept[d].size, axes.kept[d].x, axes.kept[d].y);
  for (size_t d = axes.reduced.size(); d-- > 0;)
    reduced += fmt::format("X({},{}) ", axes.reduced[d].size, axes.reduced[d].x);
  source.set("OUTER", outer), source.set("OUTERS", outers);
  source.set("REDUCED", reduced), source.set("COUNT", step.count());
  source.set("INNER", axes.inner.size), source.set("Y_INNER", axes.inner.y);
  source.set("VEC", split.vector), source.set("ACCESS", split.vector * bytes);
  source.set("MODE", s64{axes.has_inner ? 0 : 1});
  launch.shape.threads = axes.has_inner ? static_cast<int>(lanes * split.columns) : 256;
  launch.shape.blocks =
      axes.has_inner ? blocks_of(axes, split) : ceil_div(outers * lanes, s64{launch.shape.threads});
  source.set("THREADS", s64{launch.shape.threads});
  return launch;
}

std::string read(const LowerRequest& request, const std::vector<s64>& axes, ReduceStep& step) {
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (step.x.shape.elements() == 0) return "there is nothing to compute";
  step.keep = request.node.attrs.i("keepdims", 1) != 0;
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
             return params::PoolParams{data.input(0), nullptr, data.output()};
           });
  return candidate;
}

// An extreme element, or (`place`) where it lies in its row. NaN wins.
Combination extreme_of_reals(bool largest, bool place, bool last) {
  const bool last_nan = place && last;
  const std::string decoded = fmt::format("extreme_place(sum, true, {}, {})", last, last_nan);
  return {.type = "u64",
          .value = fmt::format("extreme_key(x, i, {}, true, {}, {})", largest, last, last_nan),
          .combine = "a > b ? a : b",
          .finish = place ? decoded : fmt::format("row[element_at({})]", decoded)};
}

// Empty where there is none.
Combination combination_of_reals(const LowerRequest& request, s64 count) {
  const std::string_view op = request.node.op->name;
  const bool last = request.node.attrs.i("select_last_index", 0) != 0;
  if (op == "ArgMax" || op == "ArgMin") return extreme_of_reals(op == "ArgMax", true, last);
  if (op == "ReduceMax" || op == "ReduceMin")
    return extreme_of_reals(op == "ReduceMax", false, true);
  Combination combination{.type = "f32", .combine = "f32_add(a, b)"};
  if (op == "ReduceMean")
    combination.finish = fmt::format("f32_div(sum, {})", exact_text(static_cast<f32>(count)));
  if (op == "ReduceL1") combination.value = "fabsf(x)";
  if (op == "ReduceL2" || op == "ReduceSumSquare") combination.value = "f32_mul(x, x)";
  if (op == "ReduceL2") combination.finish = "f32_sqrt(sum)";
  if (op == "ReduceProd") {
    combination.combine = "f32_mul(a, b)", combination.first = "1.0f";
    combination.one_by_one = true;
  }
  return combination;
}

Combination place_of_integer(bool largest, bool last, Dtype dtype) {
  if (dtype_bytes(dtype) == sizeof(s64))
    return {.type = "Ranked",
            .value = fmt::format("extreme_ranked(x, i, {}, {})", largest, last),
            .first = "Ranked(0, 0)",
            .combine = "a > b ? a : b",
            .finish = last ? "sum.place" : "~sum.place"};
  const char* wide = dtype == Dtype::u32 ? "u32" : "s32";
  return {.type = "u64",
          .value = fmt::format("extreme_key(({})x, i, {}, false, {})", wide, largest, last),
          .combine = "a > b ? a : b",
          .finish = last ? "(u32)sum" : "~(u32)sum"};
}

// The same; of integers the order does not matter.
Combination combination_of_integers(const LowerRequest& request, Dtype dtype) {
  const std::string_view op = request.node.op->name;
  const bool is_signed = is_signed_integer(dtype);
  const bool last = request.node.attrs.i("select_last_index", 0) != 0;
  const std::string sign = fmt::format("(1ull << {})", 8 * dtype_bytes(dtype) - 1);
  const std::string own = kernel_type(dtype);
  if (op.starts_with("Arg")) return place_of_integer(op == "ArgMax", last, dtype);
  if (op == "ReduceMax")
    return {.type = own, .first = is_signed ? sign : "0", .combine = "a > b ? a : b"};
  if (op == "ReduceMin")
    return {.type = own, .first = is_signed ? sign + " - 1" : "~0ull", .combine = "a < b ? a : b"};
  if (op == "ReduceProd") return {.type = wrapping_type(dtype), .first = "1", .combine = "a * b"};
  if (op == "ReduceSum") return {.type = wrapping_type(dtype), .combine = "a + b"};
  return {};
}

// Of ArgMax and ArgMin the attribute `axis`, else the constant input 1; why they are not known.
std::string read_axes(const LowerRequest& request, std::vector<s64>& axes) {
  const Attrs& attrs = request.node.attrs;
  if (request.node.op->name.starts_with("Arg")) {
    axes = {attrs.i("axis", 0)};
    return {};
  }
  const Tensor* given = request.has_input(1) ? request.constant(1) : nullptr;
  if (request.has_input(1) && (given == nullptr || given->dtype() != Dtype::s64))
    return "the axes are not constant";
  if (given != nullptr) axes.assign(given->as<s64>().begin(), given->as<s64>().end());
  if (axes.empty() && attrs.i("noop_with_empty_axes", 0) != 0) return "no axis is reduced";
  return {};
}

}  // namespace

Offer lower_mean_codes(const LowerRequest& request) {
  ReduceStep step{.x = request.inputs[0], .y = request.outputs[0]};
  if (std::string reason = read(request, request.node.attrs.ints("axes", std::vector<s64>{}), step);
      !reason.empty())
    return Reject{reason};
  if (request.node.attrs.has("axes") && request.node.attrs.ints("axes").empty())
    return Reject{"no axis is reduced"};
  const Epilogue epilogue = epilogue_of(request.node);
  const s64 zero = step.count() * epilogue.zero_point(0);
  const f32 multiplier = mean_scales(request.node).multiplier(step.count());
  step.combination = {.type = "s32", .combine = "a + b", .any_order = true};
  step.combination.finish = code_text(
      epilogue, fmt::format("f32_mul(f32_of(sum - ({})), {})", zero, exact_text(multiplier)));
  return candidate_for(request, "mean_codes", std::move(step));
}

Offer lower_reduce(const LowerRequest& request) {
  const Dtype dtype = request.inputs[0].dtype;
  std::vector<s64> axes;
  if (std::string reason = read_axes(request, axes); !reason.empty()) return Reject{reason};
  ReduceStep step{.x = request.inputs[0], .y = request.outputs[0]};
  if (std::string reason = read(request, axes, step); !reason.empty()) return Reject{reason};
  if (dtype == Dtype::f32) step.combination = combination_of_reals(request, step.count());
  if (is_integer(dtype)) {
    step.combination = combination_of_integers(request, dtype);
    step.combination.any_order = true;
  }
  if (step.combination.type.empty())
    return Reject{fmt::format("reducing {} is left to the CPU", dtype_name(dtype))};
  return candidate_for(request, dtype == Dtype::f32 ? "reduce_reals" : "reduce_integers",
                       std::move(step));
}

}  // namespace octet::cuda
