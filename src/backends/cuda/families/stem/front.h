// SPDX-License-Identifier: Apache-2.0
// The front of a network as one kernel, of codes (lower.cc) or of 16-bit floats (reals.cc): what both halves of the host know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/families/stem/spec.h"
#include "backends/cuda/lower/step.h"
#include "ops/shared/conv.h"
#include "ops/shared/pool.h"

namespace octet::cuda {

struct StemFront {
  static constexpr s64 kStride = 2;  // of the convolution, and of the pool

  ConvGeometry geometry;
  Shape image, y;  // y: of the chain
  std::optional<Window> pool;

  const WindowAxis& h() const { return geometry.window.h(); }
  const WindowAxis& w() const { return geometry.window.w(); }
  s64 before(const WindowAxis& axis) const { return (axis.pad_begin + 1) / kStride * kStride; }
  // Of a window in its first cell.
  s64 phase(const WindowAxis& axis) const { return before(axis) - axis.pad_begin; }
  s64 taps(const WindowAxis& axis) const;
};

// Why no kernel takes the convolution, or the node behind it as a pool; or empty.
std::string reject_stem(const StemFront& front);
std::string read_stem_pool(const LowerRequest& request, StemFront& front);

// Without tile, places of values, and what becomes of numbers.
stem::Spec stem_spec(const StemFront& front);
stem::Image stem_image(const StemFront& front, const BindArgs& bind);
// Of a window the tap that a pixel of a cell is, or -1: the cell that lane q takes of a group.
s64 stem_tap(const StemFront& front, const stem::Spec& spec, s64 group, s64 q, s64 pixel);
// A channel of each row of a block of weights, and where its byte lies.
s64 swizzled_stem_byte(s64 byte);
// With a tile: the first was the fastest on an H200, or nearly.
std::vector<stem::Spec> stem_specs(const StemFront& front, stem::Spec spec, const Chip& chip);
Candidate stem_candidate(const LowerRequest& request, const StemFront& front,
                         const stem::Spec& spec);
stem::Spec placed_stem(const StemFront& front, stem::Spec spec, const BindArgs& bind,
                       const PixelStrides& y);
Launch stem_launch(const StemFront& front, const stem::Spec& spec);

}  // namespace octet::cuda
