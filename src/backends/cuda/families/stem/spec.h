// SPDX-License-Identifier: Apache-2.0
// The front of a network on a Hopper: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"
#include "backends/cuda/device/real_end.h"

namespace octet::cuda::stem {

// In elements, from one image, channel and row to the next one.
#define STEM_IMAGE_FIELDS(FIELD)                                                         \
  FIELD(s64, image)                                                                      \
  FIELD(s64, channel)                                                                    \
  FIELD(s64, row)                                                                        \
  FIELD(s32, height)                                                                     \
  FIELD(s32, width)                                                                      \
  FIELD(s32, channels) /* up to 4 */                                                     \
  FIELD(bool, pairs)   /* two neighbours are one access */                               \
  FIELD(s32, top)      /* even numbers of rows and columns before it that cells begin */ \
  FIELD(s32, left)
OCTET_SPEC(Image, STEM_IMAGE_FIELDS)

#define STEM_CODES_FIELDS(FIELD)                                             \
  FIELD(bool, is_signed)                                                     \
  FIELD(s32, zero_point)                                                     \
  FIELD(F32Bits, scale)                                                      \
  FIELD(bool, fast) /* by the reciprocal, of reals between least and most */ \
  FIELD(F32Bits, reciprocal)                                                 \
  FIELD(F32Bits, least) /* of the lowest and of the highest code */          \
  FIELD(F32Bits, most)
OCTET_SPEC(Codes, STEM_CODES_FIELDS)

#define STEM_TILE_FIELDS(FIELD)                        \
  FIELD(s32, columns) /* of the result, of a block */  \
  FIELD(s32, rows)                                     \
  FIELD(s32, column_tiles) /* of an image */           \
  FIELD(s32, row_tiles)                                \
  FIELD(s32, blocks) /* that share a multiprocessor */ \
  FIELD(s32, ahead)  /* rows of cells on their way from memory */
OCTET_SPEC(Tile, STEM_TILE_FIELDS)

#define STEM_TAPS_FIELDS(FIELD)                                        \
  FIELD(s32, h) /* of the window */                                    \
  FIELD(s32, w)                                                        \
  FIELD(s32, phase_h) /* where its first one lies in its first cell */ \
  FIELD(s32, phase_w)
OCTET_SPEC(Taps, STEM_TAPS_FIELDS)

#define STEM_FIELDS(FIELD)                                                               \
  FIELD(Image, x)                                                                        \
  FIELD(Number, number) /* that pixels become: codes, f16 or bf16; f32: terms of bf16 */ \
  FIELD(s32, w_terms)   /* of a weight: 1, or 3 whose sum it is */                       \
  FIELD(Taps, window)   /* of reals */                                                   \
  FIELD(Codes, codes)                                                                    \
  FIELD(s32, wide)   /* 4 or 2 cells of a group side by side, the others below them */   \
  FIELD(s32, groups) /* of four cells of a window, one below the other */                \
  FIELD(s32, out_h)  /* of the convolution */                                            \
  FIELD(s32, out_w)                                                                      \
  FIELD(s32, cout)                                                                       \
  FIELD(s32, bn)     /* columns of a product: 16, 32 or 64, at least cout */             \
  FIELD(s32, height) /* of the result */                                                 \
  FIELD(s32, width)                                                                      \
  FIELD(PixelStrides, y)                                                                 \
  FIELD(s32, y_access)     /* channels that are stored at once */                        \
  FIELD(EpilogueSpec, end) /* of sums of codes */                                        \
  FIELD(RealEnd, real_end) /* of sums of reals */                                        \
  FIELD(bool, pool)        /* the largest of 3x3 windows with stride 2 */                \
  FIELD(s32, pool_top)     /* its padding */                                             \
  FIELD(s32, pool_left)                                                                  \
  FIELD(Tile, tile)
OCTET_SPEC(Spec, STEM_FIELDS)

constexpr s32 kThreads = 128, kKBytes = 32;  // of a block; of one product

// Of a pixel, whose sum it is.
constexpr s32 x_terms(const Spec& s) { return s.number == Number::f32 ? 3 : 1; }
// A cell has 2x2 pixels, of each channel: words in shared memory. Of reals two for each term, the upper pixels and the lower ones.
constexpr s32 words(const Spec& s) { return is_code(s.number) ? 1 : 2 * x_terms(s); }
constexpr s32 pitch(const Spec& s) {
  return is_code(s.number) ? 68 : 72;
}  // words of a row of cells
constexpr s32 high(const Spec& s) { return 4 / s.wide; }          // rows of cells of a group
constexpr s32 taps(const Spec& s) { return s.groups * high(s); }  // rows of cells of a window
// Rows of cells in shared memory. What is terms is read anew for each row of the result, all else once.
constexpr s32 slots(const Spec& s) { return s.number == Number::f32 ? taps(s) + 1 : 2 * high(s); }
constexpr s32 own_channels(const Spec& s) { return s.bn / 4; }  // of a thread
// Cells of a row that a block makes.
constexpr s32 cells(const Spec& s) {
  return (s.pool ? 2 * s.tile.columns + 1 : s.tile.columns) + s.wide - 1;
}
// Blocks of weights of codes: two channels of each group; an odd last channel of two groups, or of one alone. Of reals: a term of a channel of a group.
constexpr s32 paired_blocks(const Spec& s) { return s.groups * (s.x.channels / 2); }
constexpr s32 weight_blocks(const Spec& s) {
  if (!is_code(s.number)) return s.groups * s.x.channels * s.w_terms;
  return paired_blocks(s) + s.x.channels % 2 * s.groups * (1 + s.groups % 2);
}
constexpr s64 blocks(const Spec& s, s64 images) {
  return images * s.tile.column_tiles * s.tile.row_tiles;
}

// Where things lie in shared memory, in bytes, behind the weights.
struct Memory {
  s32 cells, ends, pixels, all;
};
constexpr Memory memory(const Spec& s) {
  constexpr s32 kSwizzleAlignment = 8 * kKBytes;
  Memory m{};
  m.cells = weight_blocks(s) * s.bn * kKBytes;
  m.ends = m.cells + slots(s) * s.x.channels * words(s) * pitch(s) * 4;
  m.pixels = m.ends + 8 * s.bn + (s.end.fine ? kFineBytes : 256);
  m.all = m.pixels + s.tile.ahead * s.x.channels * kThreads * 8 + kSwizzleAlignment;
  return m;
}

// Row p of a block of weights is this channel: so a thread's sums are neighbouring channels.
constexpr s32 channel_of_row(s32 p, const Spec& s) {
  return own_channels(s) * (p % 8 / 2) + p / 8 * 2 + p % 2;
}

// The reverse.
constexpr s32 row_of_channel(s32 c, const Spec& s) {
  const s32 own = own_channels(s), rest = c % own;
  return rest / 2 * 8 + c / own * 2 + rest % 2;
}
// Of weights of reals, in words of 16 bits: number `k` of a row of a block.
constexpr s32 word_of_weight(s32 block, s32 row, s32 k, const Spec& s) {
  return (block * s.bn + row) * (kKBytes / 2) + (k ^ row / 4 % 2 * 8);
}

#define STEM_RULES(RULE)                                                                      \
  RULE(s.x.channels >= 1 && s.x.channels <= 4, "a group holds up to 4 channels in registers") \
  RULE(s.wide == 2 || s.wide == 4, "four lanes hold four cells")                              \
  RULE(s.groups == 1 || s.groups == 2 || s.groups == 3 || s.groups == 4,                      \
       "rows are unrolled by a multiple of the groups")                                       \
  RULE(s.bn == 16 || s.bn == 32 || s.bn == 64, "a product has so many columns")               \
  RULE(s.cout <= s.bn, "a product has all channels")                                          \
  RULE(cells(s) <= 64, "two threads make a cell")                                             \
  RULE(s.w_terms == 1 || (s.w_terms == 3 && s.number == Number::f32),                         \
       "codes and numbers of 16 bits are one term")                                           \
  RULE(is_code(s.number) || !s.real_end.residual, "nothing is added")                         \
  RULE(is_code(s.number) || !s.pool || s.real_end.function.kind == EndFunction::none,         \
       "a function may turn the order of sums")                                               \
  RULE(!s.end.real && !s.end.residual && !s.end.sum, "codes become codes")                    \
  RULE(!s.pool || !s.end.table, "a table may turn the order of sums")                         \
  RULE(own_channels(s) % s.y_access == 0, "a thread stores its own channels")
OCTET_RULES(Spec, STEM_RULES)

struct Params {
  const f32* x;
  // Blocks of bn rows of 32 bytes of k, swizzled; channel_of_row(). Byte 16 * half + 4 * q + b is pixel b of a word in the cell that lane q takes. Which word: in
  // paired blocks for each group, channels 2i and 2i + 1 of it. Of an odd last channel block g has groups g and g + 1 (around), block groups + g group g
  // alone, so that registers stay where they are as groups take turns.
  // Of reals a block is a term of a channel of a group: number 8 * half + 2 * q + b is pixel 2 * half + b in the cell that lane q takes.
  const u8* weights;
  EpilogueParams end;
  RealEndParams real_end;
};

}  // namespace octet::cuda::stem
