// SPDX-License-Identifier: Apache-2.0
// QReduceMean, ReduceMean and ReduceSum over any axes: kernels/reduce.cu.
#include <algorithm>
#include <limits>

#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/product.h"
#include "backends/cuda/lower/walk.h"
#include "core/divide.h"
#include "ops/quantized/mean_scales.h"
#include "ops/shared/axes.h"

namespace octet::cuda {
namespace {

struct ReduceStep {
  TensorType x, y;
  std::vector<bool> reduced;  // of each axis of x
  bool keep = true;           // reduced axes remain in y, with one element
  bool real = false;
  std::string finish;

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
    if (!reduced && axis.x == 1) {
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

s64 vector_of(const Axes& axes, s64 bytes, s64 offset, s64 multiprocessors) {
  s64 vector = common_power(16 / bytes, {axes.inner.size, offset / bytes});
  for (const std::vector<ReduceAxis>* list : {&axes.kept, &axes.reduced}) {
    for (const ReduceAxis& axis : *list) vector = common_power(vector, {axis.x});
  }
  // Rather more blocks than wider loads.
  constexpr s64 kColumns = 16;
  while (vector > 4 / bytes && vector > 1 &&
         product_of(axes.kept) * ceil_div(axes.inner.size / vector, kColumns) < multiprocessors)
    vector /= 2;
  return vector;
}

Launch make_launch(const CudaDevice& device, const ReduceStep& step, const BindArgs& bind) {
  const Axes axes = axes_of(step, bind);
  const s64 bytes = static_cast<s64>(dtype_bytes(step.x.dtype));
  const s64 vector = vector_of(axes, bytes, bind.input_offset(0), device.chip().multiprocessors);
  const s64 outers = product_of(axes.kept);
  Launch launch{.source = {"reduce", {}}, .shape = {}};
  KernelSource& source = launch.source;
  source.set("ELEMENT", kernel_type(step.x.dtype));
  source.set("OUT", kernel_type(step.y.dtype));
  source.set("SUM", step.real ? "f32" : "s32");
  source.set("REAL", s64{step.real});
  source.set("FINISH", step.finish);
  std::string outer, reduced;
  for (size_t d = axes.kept.size(); d-- > 0;)
    outer += fmt::format("X({},{},{}) ", axes.kept[d].size, axes.kept[d].x, axes.kept[d].y);
  for (size_t d = axes.reduced.size(); d-- > 0;)
    reduced += fmt::format("X({},{}) ", axes.reduced[d].size, axes.reduced[d].x);
  source.set("OUTER", outer), source.set("OUTERS", outers);
  source.set("REDUCED", reduced), source.set("COUNT", step.count());
  source.set("INNER", axes.inner.size), source.set("Y_INNER", axes.inner.y);
  source.set("VEC", vector), source.set("ACCESS", vector * bytes);
  source.set("MODE", s64{axes.has_inner ? 0 : 1});
  constexpr s64 kColumns = 16, kLanes = 16, kThreads = 256;
  launch.shape.threads = kThreads;
  launch.shape.blocks = axes.has_inner ? outers * ceil_div(axes.inner.size / vector, kColumns)
                                       : ceil_div(outers * kLanes, kThreads);
  return launch;
}

std::string read(const LowerRequest& request, const std::vector<s64>& axes, ReduceStep& step) {
  if (request.constant(0) != nullptr) return "the input is a constant";
  step.x = request.inputs[0];
  step.y = request.outputs[0];
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

}  // namespace

Offer lower_mean_codes(const LowerRequest& request) {
  ReduceStep step;
  if (std::string reason = read(request, request.node.attrs.ints("axes", std::vector<s64>{}), step);
      !reason.empty())
    return Reject{reason};
  if (request.node.attrs.has("axes") && request.node.attrs.ints("axes").empty())
    return Reject{"no axis is reduced"};
  const Epilogue epilogue = epilogue_of(request.node);
  const s64 zero = step.count() * epilogue.zero_point(0);
  const f32 multiplier = mean_scales(request.node).multiplier(step.count());
  step.finish = code_text(
      epilogue, fmt::format("f32_mul(f32_of(sum - ({})), {})", zero, exact_text(multiplier)));
  return candidate_for(request, "mean_codes", std::move(step));
}

Offer lower_reduce(const LowerRequest& request) {
  ReduceStep step;
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  const Tensor* given = request.has_input(1) ? request.constant(1) : nullptr;
  if (request.has_input(1) && (given == nullptr || given->dtype() != Dtype::s64))
    return Reject{"the axes are not constant"};
  std::vector<s64> axes;
  if (given != nullptr) axes.assign(given->as<s64>().begin(), given->as<s64>().end());
  if (axes.empty() && request.node.attrs.i("noop_with_empty_axes", 0) != 0)
    return Reject{"no axis is reduced"};
  if (std::string reason = read(request, axes, step); !reason.empty()) return Reject{reason};
  step.real = true;
  step.finish = request.node.op->name == "ReduceMean"
                    ? fmt::format("f32_div(sum, {})", exact_text(static_cast<f32>(step.count())))
                    : "sum";
  return candidate_for(request, "sum_reals", std::move(step));
}

}  // namespace octet::cuda
