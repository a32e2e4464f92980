// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization of codes: what its host half and its kernels agree on.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda::instance_norm {

// The three launches of a step.
enum class Part : s32 { sums, lines, codes };

// In bytes.
#define CODE_STRIDES_FIELDS(FIELD) \
  FIELD(s64, image)                \
  FIELD(s64, channel)              \
  FIELD(s64, row)                  \
  FIELD(s64, pixel)
OCTET_SPEC(CodeStrides, CODE_STRIDES_FIELDS)

#define INSTANCE_NORM_FIELDS(FIELD)                                          \
  FIELD(Part, part)                                                          \
  FIELD(s32, images)                                                         \
  FIELD(s32, channels)                                                       \
  FIELD(s32, height)                                                         \
  FIELD(s32, width)                                                          \
  FIELD(CodeStrides, x)                                                      \
  FIELD(CodeStrides, y)                                                      \
  FIELD(s32, vec)    /* channels of a thread; 4: they lie together */        \
  FIELD(s32, groups) /* threads along the channels of a block */             \
  FIELD(s32, chunks) /* pieces of an image, each of which a block adds up */ \
  FIELD(bool, x_signed)                                                      \
  FIELD(F32Bits, x_scale)                                                    \
  FIELD(F32Bits, epsilon)                                                    \
  FIELD(F32Bits, y_scale)                                                    \
  FIELD(s32, zero_point) /* of y, whose codes lie between lo and hi */       \
  FIELD(s32, lo)                                                             \
  FIELD(s32, hi)
OCTET_SPEC(Spec, INSTANCE_NORM_FIELDS)

constexpr s32 kThreads = 256;
constexpr s32 kMostPixels = 65536;  // of a chunk: the sum of their squares fits 32 bits

constexpr s32 pixels(const Spec& s) { return s.height * s.width; }
constexpr s32 chunk(const Spec& s) { return ceil_div_s32(pixels(s), s.chunks); }  // pixels
constexpr s32 channel_blocks(const Spec& s) { return ceil_div_s32(s.channels, s.groups * s.vec); }
constexpr s64 blocks(const Spec& s) {
  if (s.part == Part::lines) return (s64{s.images} * s.channels + kThreads - 1) / kThreads;
  return s64{s.images} * s.chunks * channel_blocks(s);
}
// Params::sums, in bytes.
constexpr s64 sum_bytes(const Spec& s) { return s64{s.images} * s.chunks * s.channels * 8; }
constexpr s64 line_bytes(const Spec& s) { return s64{s.images} * s.channels * 8; }

#define INSTANCE_NORM_RULES(RULE)                                                \
  RULE(s.vec == 1 || s.vec == 4, "channels are read one by one or as a word")    \
  RULE(s.channels % s.vec == 0, "a word would reach into another pixel")         \
  RULE(s.groups > 0 && (s.groups & (s.groups - 1)) == 0 && s.groups <= kThreads, \
       "the threads of a block that share channels are added up pairwise")       \
  RULE(chunk(s) <= kMostPixels, "sums of squares of a piece would pass 32 bits")
OCTET_RULES(Spec, INSTANCE_NORM_RULES)

// `sums` and `lines` lie in the step's workspace.
struct Params {
  const u8* x;
  const f32* scale;
  const f32* bias;
  u32* sums;   // [image][chunk][channel]{sum, sum of squares}
  f32* lines;  // [image][channel]{slope, offset}
  u8* y;
};

}  // namespace octet::cuda::instance_norm
