// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/transpose/lower.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/families/transpose/spec.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

using transpose::kFew;
using transpose::Mode;

struct Transposition {
  const Walk& walk;
  WalkAxis a = {}, b = {};  // neighbours in the input, in the output
  std::vector<WalkAxis> outer = {};
  Mode mode = Mode::tiles;
  bool packed = false;
  s64 tile_a = 32, tile_b = 32;
  s64 load = 1, store = 1;  // elements

  s64 outers() const {
    s64 count = 1;
    for (const WalkAxis& axis : outer) count *= axis.size;
    return count;
  }
  s64 in_bytes() const { return walk.operands[1].bytes; }
  s64 out_bytes() const { return walk.operands[0].bytes; }
};

bool is_unary(const Walk& walk) {
  return walk.operands.size() == 2 && walk.maps.empty() && !walk.operands[1].constant &&
         !walk.table;
}

// Whether accesses of `elements` are aligned wherever a run of operand `i` begins that is a multiple of them itself.
bool is_aligned(const Transposition& t, size_t i, s64 elements, s64 run_stride) {
  const WalkOperand& operand = t.walk.operands[i];
  if (run_stride % elements != 0) return false;
  if ((operand.offset + operand.first * operand.bytes) % (elements * operand.bytes) != 0)
    return false;
  return std::ranges::all_of(t.outer,
                             [&](const WalkAxis& axis) { return axis.strides[i] % elements == 0; });
}

void choose_mode(Transposition& t) {
  const s64 smallest = std::min(t.in_bytes(), t.out_bytes());
  if (t.b.size <= kFew && t.in_bytes() <= 4 && t.out_bytes() <= 4) {
    t.mode = Mode::few_b;
    t.packed = t.a.strides[0] == t.b.size;
    t.tile_a = 4;
  } else if (t.a.size <= kFew && t.in_bytes() <= 4 && t.out_bytes() <= 4) {
    t.mode = Mode::few_a;
    t.packed = t.b.strides[1] == t.a.size;
    t.tile_b = 4;
  } else if (smallest == 1 && t.in_bytes() <= 4 && t.out_bytes() <= 4) {
    constexpr s64 kElements = 4096;
    t.mode = Mode::byte_tiles;
    t.tile_b = t.b.size <= 16 ? 16 : t.b.size <= 32 ? 32 : 64;
    t.tile_a = kElements / t.tile_b;
    while (t.tile_a > 64 && t.tile_a / 2 >= t.a.size) t.tile_a /= 2;
  } else if (smallest == 2 && t.in_bytes() <= 4 && t.out_bytes() <= 4) {
    t.mode = Mode::pair_tiles;
    t.tile_a = t.a.size <= 32 ? 32 : 64;
    t.tile_b = t.b.size <= 32 ? 32 : 64;
  }
}

void choose_access(Transposition& t) {
  constexpr s64 kFour = 4;
  const auto widest = [&](size_t i, s64 run_stride) {
    s64 elements = kFour;
    while (!is_aligned(t, i, elements, run_stride)) elements /= 2;
    return elements;
  };
  const bool whole_a = t.a.size % kFour == 0 && is_aligned(t, 1, kFour, t.b.strides[1]);
  const bool whole_b = is_aligned(t, 0, kFour, t.a.strides[0]);
  switch (t.mode) {
    case Mode::byte_tiles:
    case Mode::pair_tiles:
      t.load = whole_a ? kFour : 1;
      t.store = widest(0, t.a.strides[0]);
      break;
    case Mode::few_b:
      t.load = whole_a ? kFour : 1;
      t.store = widest(0, 0);
      break;
    case Mode::few_a:
      t.load = widest(1, 0);
      t.store = whole_b ? kFour : 1;
      break;
    case Mode::tiles:
      break;
  }
}

transpose::Spec spec_of(const Transposition& t) {
  const WalkOperand &out = t.walk.operands[0], &in = t.walk.operands[1];
  transpose::Spec spec{.in = in.type,
                       .out = out.type,
                       .mode = t.mode,
                       .packed = t.packed,
                       .size_a = field_of(t.a.size),
                       .size_b = field_of(t.b.size),
                       .a_out = t.a.strides[0],
                       .b_in = t.b.strides[1],
                       .first_in = in.first,
                       .first_out = out.first,
                       .outer = {},
                       .load = field_of(t.load),
                       .store = field_of(t.store),
                       .tile_a = field_of(t.tile_a),
                       .tile_b = field_of(t.tile_b)};
  for (size_t d = t.outer.size(); d-- > 0;) {
    const WalkAxis& axis = t.outer[d];
    append(spec.outer, {field_of(axis.size), axis.strides[0], axis.strides[1]});
  }
  return spec;
}

bool find_axes(Transposition& t, const std::vector<WalkAxis>& axes) {
  if (axes.back().strides[0] != 1 || axes.back().strides[1] <= 1) return false;
  size_t a = axes.size();
  for (size_t d = 0; d + 1 < axes.size(); ++d) {
    if (axes[d].strides[1] == 1) a = d;
  }
  if (a == axes.size()) return false;
  t.a = axes[a];
  t.b = axes.back();
  for (size_t d = 0; d + 1 < axes.size(); ++d) {
    if (d != a) t.outer.push_back(axes[d]);
  }
  return true;
}

}  // namespace

std::optional<Launch> transpose_launch(const Walk& walk, const std::vector<WalkAxis>& axes) {
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  Transposition t{.walk = walk};
  if (!is_unary(walk) || !find_axes(t, axes)) return std::nullopt;
  choose_mode(t);
  choose_access(t);
  const s64 tiles = ceil_div(t.a.size, t.tile_a) * ceil_div(t.b.size, t.tile_b) * t.outers();
  if (t.a.size > kMost || t.b.size > kMost || t.outers() > kMost || tiles > kMost)
    return std::nullopt;
  const transpose::Spec spec = spec_of(t);
  Launch launch{
      .source = source_of("transpose", spec),
      .shape = {
          .blocks = blocks(spec), .threads = transpose::kThreads, .programmatic_dependent = true}};
  launch.source.functions = {element_function(walk)};
  return launch;
}

}  // namespace octet::cuda
