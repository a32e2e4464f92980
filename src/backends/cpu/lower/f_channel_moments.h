// SPDX-License-Identifier: Apache-2.0
// Mean and 1 / sqrt(variance + epsilon) of each channel of each image of reals, channels last, as docs/numerics.md section 7 adds them.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/host/queue.h"
#include "core/types.h"

namespace octet {

struct ChannelMoments {
  void (*column_sum)(const ColumnArgs*);
  Shape shape;  // [N, C, H, W], dense
  f32 epsilon;

  s64 channels() const { return shape[1]; }
  s64 pixels() const { return shape[2] * shape[3]; }
  s64 bytes() const { return shape[0] * 2 * channels() * s64{sizeof(f32)}; }

  // Of an image: means, then factors, in what measure() filled.
  const f32* means(const f32* room, s64 image) const { return room + image * 2 * channels(); }
  const f32* factors(const f32* room, s64 image) const { return means(room, image) + channels(); }

  void measure(const f32* x, f32* room, const StepArgs& step) const noexcept {
    const s64 blocks = (channels() + kBlock - 1) / kBlock;
    pool_of(step).parallel_for(shape[0] * blocks, [&](s64 begin, s64 end, int) {
      for (s64 item = begin; item < end; ++item)
        measure_block(x, room, item / blocks, item % blocks * kBlock);
    });
  }

 private:
  static constexpr s64 kBlock = 8;  // a register of AVX2

  void measure_block(const f32* x, f32* room, s64 image, s64 first) const noexcept {
    f32* out = room + image * 2 * channels() + first;
    ColumnArgs args{x + image * pixels() * channels() + first,
                    out,
                    std::min(kBlock, channels() - first),
                    pixels(),
                    channels(),
                    nullptr,
                    static_cast<f32>(pixels())};
    column_sum(&args);
    args.mean = out;
    args.dst = out + channels();
    column_sum(&args);
    for (s64 c = 0; c < args.channels; ++c) args.dst[c] = 1.0f / std::sqrt(args.dst[c] + epsilon);
  }
};

}  // namespace octet
