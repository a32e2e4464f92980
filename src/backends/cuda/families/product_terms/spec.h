// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products of reals on tensor cores, as sums of products of 16-bit terms: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/number.h"
#include "backends/cuda/device/real_end.h"

namespace octet::cuda::product_terms {

// window.pixels is 0: how many there are is known when a step runs.
#define PRODUCT_TERMS_FIELDS(FIELD)                                              \
  FIELD(ConvWindow, window)                                                      \
  FIELD(ConvOperands, at)                                                        \
  FIELD(RealEnd, end)                                                            \
  FIELD(Number, x)                                                               \
  FIELD(bool, f16)    /* terms are f16, of which each side has one; else bf16 */ \
  FIELD(s32, x_terms) /* 1 or 3, whose sum is the number */                      \
  FIELD(s32, w_terms)                                                            \
  FIELD(s32, x_access) /* bytes of one load of x */                              \
  FIELD(s32, y_access) /* channels that are stored at once */                    \
  FIELD(s32, warps_m)  /* of a block, along pixels and along channels */         \
  FIELD(s32, warps_n)                                                            \
  FIELD(s32, tiles_m) /* of 16 pixels by 8 channels, of a warp */                \
  FIELD(s32, tiles_n)                                                            \
  FIELD(s32, stages)
OCTET_SPEC(Spec, PRODUCT_TERMS_FIELDS)

constexpr s32 kBk = 32;    // of k in a stage
constexpr s32 kStep = 16;  // of k in one product

#define PRODUCT_TERMS_RULES(RULE)                                                            \
  RULE(s.stages >= 2, "one stage is loaded while another is multiplied")                     \
  RULE(s.tiles_n % 2 == 0, "weights of two tiles are read at once")                          \
  RULE(s.window.cin* bytes_of(s.x) % s.x_access == 0, "a load would cross into another tap") \
  RULE(s.x_access >= bytes_of(s.x) && s.x_access <= 16,                                      \
       "a load is one number at least, and 16 bytes at most")                                \
  RULE(2 * s.tiles_n % s.y_access == 0, "a thread owns 2 * tiles_n channels")                \
  RULE((s.x_terms == 1 || s.x_terms == 3) && (s.w_terms == 1 || s.w_terms == 3),             \
       "a number is one term or three")                                                      \
  RULE(!s.f16 || (s.x_terms == 1 && s.w_terms == 1),                                         \
       "the exponents of f16 do not hold further terms")                                     \
  RULE(s.x == Number::f32 || s.x_terms == 1, "what has 16 bits is one term")                 \
  RULE(s.x != Number::f16 || s.f16, "numbers of f16 are no bf16")                            \
  RULE(s.x != Number::bf16 || !s.f16, "numbers of bf16 are no f16")
OCTET_RULES(Spec, PRODUCT_TERMS_RULES)

constexpr s32 bm(const Spec& s) { return 16 * s.tiles_m * s.warps_m; }  // pixels of a block
constexpr s32 bn(const Spec& s) { return 8 * s.tiles_n * s.warps_n; }   // channels
constexpr s32 threads(const Spec& s) { return 32 * s.warps_m * s.warps_n; }
constexpr s32 k_all(const Spec& s) { return s.window.taps_h * s.window.taps_w * s.window.cin; }
constexpr s32 k_tiles(const Spec& s) { return ceil_div_s32(k_all(s), kBk); }
constexpr s32 n_tiles(const Spec& s) { return ceil_div_s32(s.window.cout, bn(s)); }
constexpr s32 a_bytes(const Spec& s) { return bm(s) * kBk * bytes_of(s.x); }  // of a stage
constexpr s32 b_bytes(const Spec& s) { return bn(s) * kBk * 2 * s.w_terms; }
constexpr s32 stage_bytes(const Spec& s) { return a_bytes(s) + b_bytes(s); }
constexpr s32 shared_bytes(const Spec& s) { return s.stages * stage_bytes(s); }
constexpr s64 blocks(const Spec& s, s64 pixels) {
  return (pixels + bm(s) - 1) / bm(s) * n_tiles(s) * s.window.groups;
}
// More than one product of terms: sums leave the tensor core, which truncates, after each stage.
constexpr bool is_promoted(const Spec& s) { return s.x_terms * s.w_terms > 1; }

// Where step `step` of row `row` begins in a stage of x: rows that are read at once meet no bank twice.
constexpr s32 step_place(s32 row, s32 step, Number x) {
  const s32 row_bytes = kBk * bytes_of(x);
  return row * row_bytes + (step ^ (row * row_bytes / 128 & 1)) * (kStep * bytes_of(x));
}

// Weights, as 16-bit words: [group][block of bn channels][k tile] stages, in which a lane finds what a product of two tiles asks of it as 16 bytes. Lane 4 * column + q
// owns k 4q to 4q + 3 of each step, so that of x they are one access. Column `n` of a block of weights is channel channel_of_column(n).
struct WeightAt {
  s32 group, block, k, n, term;
};
constexpr s64 weight_place(const Spec& s, const WeightAt& w) {
  const s32 tile = w.n / 8, pair = tile / 2, in_step = w.k % kStep;
  const s32 lane = w.n % 8 * 4 + in_step / 4, step = w.k % kBk / kStep;
  const s64 stage = (s64{w.group} * n_tiles(s) + w.block) * k_tiles(s) + w.k / kBk;
  const s32 piece = ((step * (bn(s) / 16) + pair) * s.w_terms + w.term) * 32 + lane;
  return stage * (b_bytes(s) / 2) + piece * 8 + tile % 2 * 4 + in_step % 4;
}
constexpr s64 weight_words(const Spec& s) {
  return s64{s.window.groups} * n_tiles(s) * k_tiles(s) * (b_bytes(s) / 2);
}

// A thread's sums are 2 * tiles_n neighbouring channels: columns 2q and 2q + 1 of each tile of its warp.
constexpr s32 channel_of_column(s32 n, s32 tiles_n) {
  const s32 width = 8 * tiles_n, in_warp = n % width;
  return n - in_warp + 2 * tiles_n * (in_warp % 8 / 2) + 2 * (in_warp / 8) + in_warp % 2;
}

// The reverse.
constexpr s32 column_of_channel(s32 c, s32 tiles_n) {
  const s32 width = 8 * tiles_n, own = 2 * tiles_n, in_warp = c % width, in_thread = in_warp % own;
  return c - in_warp + in_thread / 2 * 8 + in_warp / own * 2 + in_thread % 2;
}

struct Params {
  const void* x;
  const u16* weights;  // weight_place()
  RealEndParams end;
  s32 pixels;  // of y, of all images
};

}  // namespace octet::cuda::product_terms
