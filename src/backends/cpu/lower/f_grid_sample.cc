// SPDX-License-Identifier: Apache-2.0
// GridSample of lines, images and volumes. Where a position lies is the definition's own arithmetic (ops/shared/grid_sample.h), once for
// all channels; the sums are the kernel's.
#include <algorithm>
#include <limits>
#include <memory>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/grid_sample.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/host/queue.h"
#include "ops/shared/axes.h"
#include "ops/shared/grid_sample.h"

namespace octet {
namespace {

constexpr s64 kSerial = 4096;  // fewer elements cost less than waking a thread
constexpr int kAxes = 3;
constexpr s64 kMostTaps = s64{kMostGridTaps} * kMostGridTaps * kMostGridTaps;

struct GridSampleStep {
  void (*sample)(const GridSampleArgs*) = nullptr;
  GridSampleAttributes sampling = {};
  int spatial = 2;
  bool planes = true;  // else the channels of a pixel are adjacent
  s64 batch = 1, channels = 1, points = 1;
  s64 size[kAxes] = {1, 1, 1};  // of the input: depth, height, width

  s64 pixels() const { return size[0] * size[1] * size[2]; }
  s64 taps(int axis) const {
    constexpr s64 kTaps[] = {1, 2, kMostGridTaps};
    return axis < kAxes - spatial ? 1 : kTaps[static_cast<size_t>(sampling.mode)];
  }

  struct Block {
    int index[kMostTaps * kGridBlock];
    f32 weights[kAxes * kMostGridTaps * kGridBlock];
  };

  // Position i of the block.
  void set(Block& block, const f32* position, s64 i) const noexcept {
    GridTaps at[kAxes];
    for (int axis = kAxes - spatial; axis < kAxes; ++axis)
      at[axis] = GridAxis(sampling, size[axis]).taps(position[kAxes - 1 - axis]);
    f32* weight = block.weights + i;
    for (int axis = 0; axis < kAxes; ++axis) {
      for (s64 k = 0; k < taps(axis); ++k, weight += kGridBlock)
        *weight = at[axis].weight[static_cast<size_t>(k)];
    }
    int* index = block.index + i;
    const s64 all = taps(0) * taps(1) * taps(2);
    for (s64 k = 0; k < all; ++k, index += kGridBlock) {
      const s64 d = at[0].index[static_cast<size_t>(k / (taps(1) * taps(2)))];
      const s64 h = at[1].index[static_cast<size_t>(k / taps(2) % taps(1))];
      const s64 w = at[2].index[static_cast<size_t>(k % taps(2))];
      *index = d < 0 || h < 0 || w < 0 ? -1 : static_cast<int>((d * size[1] + h) * size[2] + w);
    }
  }

  void run_block(const StepArgs& step, s64 image, s64 first) const noexcept {
    Block block;
    const s64 count = std::min(s64{kGridBlock}, points - first);
    const f32* positions = f32_input(step, 1) + (image * points + first) * spatial;
    for (s64 i = 0; i < count; ++i) set(block, positions + i * spatial, i);
    const s64 rows = taps(0) * taps(1) * taps(2), weights = taps(0) + taps(1) + taps(2);
    for (s64 row = 0; row < rows; ++row)
      std::fill(block.index + row * kGridBlock + count, block.index + (row + 1) * kGridBlock, -1);
    for (s64 row = 0; row < weights; ++row)
      std::fill(block.weights + row * kGridBlock + count, block.weights + (row + 1) * kGridBlock,
                0.0f);
    const GridSampleArgs args{
        f32_input(step, 0) + image * channels * pixels(),
        f32_output(step, 0) + image * channels * points + first * (planes ? 1 : channels),
        channels,
        pixels(),
        points,
        count,
        {taps(0), taps(1), taps(2)},
        block.index,
        block.weights};
    sample(&args);
  }

  void operator()(const StepArgs& step) const noexcept {
    const s64 blocks = (points + kGridBlock - 1) / kGridBlock;
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) run_block(step, i / blocks, i % blocks * kGridBlock);
    };
    if (batch * channels * points < kSerial) return body(0, batch * blocks, 0);
    pool_of(step).parallel_for(batch * blocks, body);
  }
};

}  // namespace

Offer lower_f_grid_sample(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  const Shape& x = request.inputs[0].shape;
  const Shape& y = request.outputs[0].shape;
  if (request.constant(0) != nullptr || request.constant(1) != nullptr)
    return Reject{"the input or the grid is constant"};
  if (x.rank() > 2 + kAxes) return Reject{"the input has more than three axes of positions"};
  if (x.elements() == 0 || y.elements() == 0) return Reject{"the input is empty"};
  GridSampleStep step;
  step.sampling = attributes_of<GridSampleAttributes>(request.node);
  step.spatial = x.rank() - 2;
  step.planes = x.rank() != 4 || request.layouts[0] != Layout::nhwc;
  step.batch = x[0];
  step.channels = x[1];
  step.points = dims_product(y, 2, y.rank());
  for (int i = 0; i < step.spatial; ++i) step.size[kAxes - step.spatial + i] = x[2 + i];
  if (step.pixels() > std::numeric_limits<s32>::max()) return Reject{"a plane has 2^31 elements"};
  step.sample =
      kernel_for(step.planes ? kGridSamplePlanes : kGridSamplePixels, isa_of(request.target));
  Candidate candidate;
  candidate.kernel = kernel_name("f32", "grid_sample", isa_of(request.target));
  const Layout layout = step.planes ? Layout::linear : Layout::nhwc;
  candidate.inputs = {layout, Layout::linear};
  candidate.outputs = {layout};
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
