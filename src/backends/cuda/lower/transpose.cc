// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/transpose.h"

#include <algorithm>
#include <limits>

#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kThreads = 256, kSmall = 4;
enum Mode : s64 { kByteTiles, kTiles, kSmallB, kSmallA };

struct Transposition {
  const Walk& walk;
  WalkAxis a = {}, b = {};  // neighbours in the input, in the output
  std::vector<WalkAxis> outer = {};
  Mode mode = kTiles;
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
  if (walk.operands.size() != 2 || !walk.maps.empty() || walk.operands[1].constant) return false;
  return std::ranges::none_of(walk.constants,
                              [](const std::string& c) { return c.starts_with("TABLE="); });
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
  if (t.b.size <= kSmall && t.in_bytes() <= 4 && t.out_bytes() <= 4) {
    t.mode = kSmallB;
    t.packed = t.a.strides[0] == t.b.size;
    t.tile_a = 4;
  } else if (t.a.size <= kSmall && t.in_bytes() <= 4 && t.out_bytes() <= 4) {
    t.mode = kSmallA;
    t.packed = t.b.strides[1] == t.a.size;
    t.tile_b = 4;
  } else if (smallest == 1 && t.in_bytes() <= 4 && t.out_bytes() <= 4) {
    constexpr s64 kElements = 4096;
    t.mode = kByteTiles;
    t.tile_b = t.b.size <= 16 ? 16 : t.b.size <= 32 ? 32 : 64;
    t.tile_a = kElements / t.tile_b;
    while (t.tile_a > 64 && t.tile_a / 2 >= t.a.size) t.tile_a /= 2;
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
    case kByteTiles:
      t.load = whole_a ? kFour : 1;
      t.store = widest(0, t.a.strides[0]);
      break;
    case kSmallB:
      t.load = whole_a ? kFour : 1;
      t.store = widest(0, 0);
      break;
    case kSmallA:
      t.load = widest(1, 0);
      t.store = whole_b ? kFour : 1;
      break;
    case kTiles:
      break;
  }
}

void set_constants(KernelSource& source, const Transposition& t) {
  const WalkOperand &out = t.walk.operands[0], &in = t.walk.operands[1];
  const bool first = in.bytes >= out.bytes;
  source.set("IN", in.type), source.set("OUT", out.type);
  source.set("MID", first ? out.type : in.type);
  source.set("BODY_FIRST", s64{first});
  source.set("BODY", t.walk.body);
  source.set("FIRST_OUT", out.first), source.set("FIRST_A", in.first);
  source.set("SIZE_A", t.a.size), source.set("A_OUT", t.a.strides[0]);
  source.set("SIZE_B", t.b.size), source.set("B_IN", t.b.strides[1]);
  source.set("LOAD", t.load), source.set("STORE", t.store);
  source.set("MODE", s64{t.mode}), source.set("PACKED", s64{t.packed});
  source.set("TA", t.tile_a), source.set("TB", t.tile_b);
  std::string outer;
  for (size_t d = t.outer.size(); d-- > 0;) {
    const WalkAxis& axis = t.outer[d];
    outer += fmt::format("X({},{},{}) ", axis.size, axis.strides[0], axis.strides[1]);
  }
  source.set("OUTER", outer);
  source.set("OUTERS", t.outers());
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
  const s64 threads = t.mode == kSmallB   ? ceil_div(t.a.size, kSmall) * t.outers()
                      : t.mode == kSmallA ? ceil_div(t.b.size, kSmall) * t.outers()
                                          : tiles * kThreads;
  if (t.a.size > kMost || t.b.size > kMost || t.outers() > kMost || tiles > kMost)
    return std::nullopt;
  Launch launch{.source = {"transpose", walk.constants}, .shape = {}};
  set_constants(launch.source, t);
  launch.shape = {.blocks = ceil_div(threads, kThreads), .threads = kThreads};
  return launch;
}

}  // namespace octet::cuda
