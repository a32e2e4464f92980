// SPDX-License-Identifier: Apache-2.0
// MaxPool on u8 codes, QAveragePool, and QReduceMean over the rows and columns of an image or of a token matrix.
#include <memory>
#include <utility>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/pool/pool.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/mean_scales.h"
#include "ops/shared/axes.h"
#include "ops/shared/pool.h"

namespace octet {
namespace {

RunStep step_of(const PoolKernel& kernel, PoolSpec spec) {
  auto pool = std::make_shared<const Pool>(kernel, std::move(spec));
  return [pool](const StepArgs& args) {
    pool->run(u8_input(args, 0), u8_output(args, 0), pool_of(args));
  };
}

PoolSpec spec_of(const PoolGeometry& geometry) {
  PoolSpec spec;
  spec.batch = geometry.batch;
  spec.channels = geometry.channels;
  spec.window = geometry.window;
  return spec;
}

Candidate image_candidate(const LowerRequest& request, const PoolKernel& kernel, PoolSpec spec) {
  Candidate candidate = candidate_of(request, kernel.name, Layout::nhwc);
  candidate.strided = true;
  candidate.by_image = true;
  candidate.bind = [&kernel, spec = std::move(spec), input = request.inputs[0].shape,
                    output = request.outputs[0].shape](const BindArgs& bind) {
    PoolSpec placed = spec;
    placed.input = nhwc_placement(input, bind.inputs[0]);
    placed.output = nhwc_placement(output, bind.outputs[0]);
    return step_of(kernel, std::move(placed));
  };
  return candidate;
}

// One for each output pixel, as the window's divisor varies at the edges.
std::vector<f32> multipliers_of(const PoolGeometry& geometry, const MeanScales& scales) {
  std::vector<f32> multipliers;
  for (s64 y = 0; y < geometry.window.h().out; ++y) {
    for (s64 x = 0; x < geometry.window.w().out; ++x) {
      const s64 divisor = geometry.divisor(0, y, x);
      multipliers.push_back(divisor == 0 ? 0.0f : scales.multiplier(divisor));
    }
  }
  return multipliers;
}

// Checks and fields that averages share.
std::string read_average(const LowerRequest& request, PoolSpec& spec) {
  if (request.inputs[0].dtype != Dtype::u8) return "the codes are not u8";
  if (request.constant(0) != nullptr) return "the input is a constant";
  const Epilogue epilogue = epilogue_of(request.node);
  spec.zero_point = epilogue.zero_point(0);
  spec.epilogue = epilogue_args(epilogue, nullptr);
  return epilogue_reject(epilogue, false);
}

}  // namespace

Offer lower_q_max_pool(const LowerRequest& request) {
  if (request.inputs[0].dtype != Dtype::u8) return Reject{"the elements are not u8"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  if (request.outputs.size() > 1) return Reject{"the positions of the maxima are wanted"};
  const PoolGeometry geometry = pool_geometry(request.node, request.inputs[0].shape);
  if (const char* reason = pool_reject(geometry.window)) return Reject{reason};
  return image_candidate(request, best_kernel(kMaxPoolKernels, isa_of(request.target)),
                         spec_of(geometry));
}

Offer lower_q_average_pool(const LowerRequest& request) {
  const PoolGeometry geometry = pool_geometry(request.node, request.inputs[0].shape);
  if (const char* reason = pool_reject(geometry.window)) return Reject{reason};
  PoolSpec spec = spec_of(geometry);
  if (std::string reason = read_average(request, spec); !reason.empty()) return Reject{reason};
  spec.multipliers = multipliers_of(geometry, mean_scales(request.node));
  return image_candidate(request, best_kernel(kAveragePoolKernels, isa_of(request.target)), spec);
}

namespace {

// A mean over neighbouring axes that are not the last in memory: [outer][reduced][inner].
struct MeanView {
  s64 outer = 1, reduced = 1, inner = 1;
  bool image = false;  // over H and W of nhwc
};

std::string mean_view(const LowerRequest& request, MeanView& view) {
  const Shape& shape = request.inputs[0].shape;
  const auto axes = attribute_of<&QReduceMeanAttributes::axes>(request.node);
  if (!axes) return "the mean is over all axes";
  std::vector<bool> reduced(static_cast<size_t>(shape.rank()), false);
  for (int axis : normalize_axes(*axes, shape.rank())) {
    reduced[static_cast<size_t>(axis)] = true;
  }
  view.image = shape.rank() == 4 && !reduced[0] && !reduced[1] && reduced[2] && reduced[3];
  if (view.image) {
    view = {shape[0], shape[2] * shape[3], shape[1], true};
    return {};
  }
  int d = 0;
  for (; d < shape.rank() && !reduced[static_cast<size_t>(d)]; ++d) view.outer *= shape[d];
  for (; d < shape.rank() && reduced[static_cast<size_t>(d)]; ++d) view.reduced *= shape[d];
  for (; d < shape.rank(); ++d) {
    if (reduced[static_cast<size_t>(d)]) return "the reduced axes are not neighbours";
    view.inner *= shape[d];
  }
  return view.inner == 1 ? "the mean is over the last axis" : "";
}

// The view as a pool of one window for each outer index.
Window window_of_view(s64 rows, s64 columns) {
  Window window;
  window.axes[1] = {.in = rows, .out = 1, .kernel = rows};
  window.axes[2] = {.in = columns, .out = 1, .kernel = columns};
  return window;
}

}  // namespace

Offer lower_q_mean(const LowerRequest& request) {
  MeanView view;
  PoolSpec spec;
  if (std::string reason = mean_view(request, view); !reason.empty()) return Reject{reason};
  if (std::string reason = read_average(request, spec); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[0].shape;
  spec.batch = view.outer;
  spec.channels = view.inner;
  spec.window = view.image ? window_of_view(shape[2], shape[3]) : window_of_view(1, view.reduced);
  if (view.reduced == 0) return Reject{"the mean is over no elements"};
  if (const char* reason = pool_reject(spec.window)) return Reject{reason};
  spec.multipliers = {mean_scales(request.node).multiplier(view.reduced)};
  const PoolKernel& kernel = best_kernel(kAveragePoolKernels, isa_of(request.target));
  const s64 inner = view.inner;
  spec.output = {Layout::nhwc, inner, inner, inner, 0};
  spec.input = {Layout::nhwc, inner, view.reduced * inner, view.reduced * inner, 0};
  Candidate candidate =
      candidate_of(request, kernel.name, view.image ? Layout::nhwc : Layout::linear);
  candidate.strided = candidate.by_image = view.image;
  candidate.bind = [&kernel, spec, view, input = shape,
                    output = request.outputs[0].shape](const BindArgs& bind) {
    PoolSpec placed = spec;
    if (view.image) placed.input = nhwc_placement(input, bind.inputs[0]);
    if (view.image && output.rank() == 4) placed.output = nhwc_placement(output, bind.outputs[0]);
    return step_of(kernel, std::move(placed));
  };
  return candidate;
}

}  // namespace octet
