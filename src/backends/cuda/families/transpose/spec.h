// SPDX-License-Identifier: Apache-2.0
// Elements whose neighbours in the input are none in the output: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/walk.h"

namespace octet::cuda::transpose {

enum class Mode : s32 {
  byte_tiles,  // tiles of shared memory of words of four bytes
  pair_tiles,  // of words of two elements of 16 bits
  tiles,       // of single elements
  few_b,       // b has up to kFew indices: a thread takes four of a
  few_a        // a has: a thread takes four of b
};

#define TRANSPOSE_AXIS_FIELDS(FIELD)                        \
  FIELD(s32, size)                                          \
  FIELD(s64, out) /* elements from one index to the next */ \
  FIELD(s64, in)
OCTET_SPEC(Axis, TRANSPOSE_AXIS_FIELDS)
using Axes = List<Axis, kMostWalkAxes>;

// Neighbours along a lie together in the input, those along b in the output.
#define TRANSPOSE_FIELDS(FIELD)                                                  \
  FIELD(ElementType, in)                                                         \
  FIELD(ElementType, out)                                                        \
  FIELD(Mode, mode)                                                              \
  FIELD(bool, packed) /* of few_a, few_b: short runs lie without gaps */         \
  FIELD(s32, size_a)                                                             \
  FIELD(s32, size_b)                                                             \
  FIELD(s64, a_out) /* elements of the output from one index of a to the next */ \
  FIELD(s64, b_in)                                                               \
  FIELD(s64, first_in) /* elements from the pointer to the first one */          \
  FIELD(s64, first_out)                                                          \
  FIELD(Axes, outer) /* the others, fastest first */                             \
  FIELD(s32, load)   /* elements of one access */                                \
  FIELD(s32, store)                                                              \
  FIELD(s32, tile_a)                                                             \
  FIELD(s32, tile_b)
OCTET_SPEC(Spec, TRANSPOSE_FIELDS)

constexpr s32 kThreads = 256;
constexpr s32 kFew = 4;

constexpr bool has_tiles(const Spec& s) {
  return s.mode == Mode::byte_tiles || s.mode == Mode::pair_tiles || s.mode == Mode::tiles;
}
constexpr s32 tiles_a(const Spec& s) { return ceil_div_s32(s.size_a, s.tile_a); }
constexpr s32 tiles_b(const Spec& s) { return ceil_div_s32(s.size_b, s.tile_b); }
constexpr s64 outers(const Spec& s) {
  s64 count = 1;
  for (s32 d = 0; d < s.outer.count; ++d) count *= s.outer.at[d].size;
  return count;
}
constexpr s64 blocks(const Spec& s) {
  const s64 tiles = s64{tiles_a(s)} * tiles_b(s) * outers(s);
  return has_tiles(s) ? tiles : (tiles + kThreads - 1) / kThreads;
}

#define TRANSPOSE_RULES(RULE)                                                                \
  RULE(blocks(s) < s64{1} << 31, "blocks are counted in 32 bits")                            \
  RULE(s.mode != Mode::few_b || (s.size_b <= kFew && s.tile_a == 4 && s.tile_b >= s.size_b), \
       "a thread takes four of a, and all of b")                                             \
  RULE(s.mode != Mode::few_a || (s.size_a <= kFew && s.tile_b == 4 && s.tile_a >= s.size_a), \
       "a thread takes all of a, and four of b")                                             \
  RULE(s.mode != Mode::byte_tiles || (s.tile_a % 32 == 0 && s.tile_b % 16 == 0),             \
       "a warp loads 32 of a by 16 of b")                                                    \
  RULE(s.mode != Mode::pair_tiles || (s.tile_a % 4 == 0 && s.tile_b % 4 == 0),               \
       "a thread loads four of a, and stores four of b")
OCTET_RULES(Spec, TRANSPOSE_RULES)

using Params = WalkParams;

}  // namespace octet::cuda::transpose
