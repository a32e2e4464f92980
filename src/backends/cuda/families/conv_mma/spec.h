// SPDX-License-Identifier: Apache-2.0
// Convolution of codes by mma.sync m16n8k32: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"

namespace octet::cuda::conv_mma {

#define CONV_MMA_FIELDS(FIELD)                                                 \
  FIELD(ConvWindow, window)                                                    \
  FIELD(ConvOperands, at)                                                      \
  FIELD(EpilogueSpec, end)                                                     \
  FIELD(bool, short_sums) /* all with their biases are shorter than 23 bits */ \
  FIELD(s32, x_access)    /* bytes of one load of x */                         \
  FIELD(s32, y_access)    /* channels that are stored at once */               \
  FIELD(s32, warps_m)     /* of a block, along pixels and along channels */    \
  FIELD(s32, warps_n)                                                          \
  FIELD(s32, tiles_m) /* of 16 pixels by 8 channels, of a warp */              \
  FIELD(s32, tiles_n)                                                          \
  FIELD(s32, bk) /* bytes of k in a stage */                                   \
  FIELD(s32, stages)
OCTET_SPEC(Spec, CONV_MMA_FIELDS)

// Bytes of a row of x that a thread brings at once. Shorter loads are put together in a register: a thread would have to know many pixels to store each by itself.
constexpr s32 piece(const Spec& s) { return s.x_access < 4 ? 4 : s.x_access; }
// Of a thread.
constexpr s32 sums(const Spec& s) { return 4 * s.tiles_m * s.tiles_n; }

#define CONV_MMA_RULES(RULE)                                                                   \
  RULE(s.bk == 64 || s.bk == 128, "a row of shared memory is swizzled within 64 or 128 bytes") \
  RULE(s.stages >= 2, "one stage is loaded while another is multiplied")                       \
  RULE(32 * s.warps_m * s.warps_n * piece(s) % s.bk == 0, "threads load whole rows of x")      \
  RULE(sums(s) <= 128, "a thread has registers for 128 sums")                                  \
  RULE(s.tiles_n % 2 == 0, "ldmatrix brings weights of two tiles at once")                     \
  RULE(s.window.cin % s.x_access == 0, "a load would cross into another tap")                  \
  RULE(2 * s.tiles_n % s.y_access == 0, "a thread owns 2 * tiles_n channels")
OCTET_RULES(Spec, CONV_MMA_RULES)

constexpr s32 bm(const Spec& s) { return 16 * s.tiles_m * s.warps_m; }  // pixels of a block
constexpr s32 bn(const Spec& s) { return 8 * s.tiles_n * s.warps_n; }   // channels
constexpr s32 threads(const Spec& s) { return 32 * s.warps_m * s.warps_n; }
// Blocks that a multiprocessor has registers for: one block alone would wait for its own loads. Beside its sums a thread has addresses, operands and ends.
constexpr s32 blocks_at_once(const Spec& s) {
  constexpr s32 kRegisters = 65536;
  const s32 of_thread = sums(s) <= 32 ? 80 : sums(s) <= 64 ? 128 : 255;
  return kRegisters / (of_thread * threads(s));
}
constexpr s32 k_all(const Spec& s) { return s.window.taps_h * s.window.taps_w * s.window.cin; }
constexpr s32 k_tiles(const Spec& s) { return ceil_div_s32(k_all(s), s.bk); }
constexpr s32 n_tiles(const Spec& s) { return ceil_div_s32(s.window.cout, bn(s)); }
constexpr s32 stage_bytes(const Spec& s) { return (bm(s) + bn(s)) * s.bk; }
constexpr s32 shared_bytes(const Spec& s) { return s.stages * stage_bytes(s) + table_bytes(s.end); }
constexpr s64 blocks(const Spec& s) {
  return (s64{s.window.pixels} + bm(s) - 1) / bm(s) * n_tiles(s) * s.window.groups;
}

struct Params {
  const u8* x;
  const s8*
      weights;  // [group][column tile][k tile][bn rows][bk bytes], zeros beyond k_all and cout
  EpilogueParams end;
};

// Row p of a warp's weights is this channel of its 8 * tiles_n: so a thread's accumulators are neighbouring channels.
constexpr s32 channel_of_row(s32 p, s32 tiles_n) {
  const s32 width = 8 * tiles_n, in_warp = p % width;
  return p - in_warp + 2 * tiles_n * (in_warp % 8 / 2) + 2 * (in_warp / 8) + in_warp % 2;
}

}  // namespace octet::cuda::conv_mma
