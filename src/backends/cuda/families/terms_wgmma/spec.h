// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products of reals of f32, or of codes by such reals, by warpgroups of a Hopper as products of 16-bit terms: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/real_end.h"
#include "backends/cuda/device/tiled_window.h"

namespace octet::cuda::terms_wgmma {

#define TERMS_WGMMA_FIELDS(FIELD)                                                    \
  FIELD(TiledWindow, main)                                                           \
  FIELD(ConvOperands, at)                                                            \
  FIELD(RealEnd, end)                                                                \
  FIELD(Number, x)       /* f32, or codes */                                         \
  FIELD(bool, late_bias) /* the bias is no constant: a kernel before may write it */ \
  FIELD(s32, y_access)   /* channels that are stored at once */
OCTET_SPEC(Spec, TERMS_WGMMA_FIELDS)

constexpr s32 kWordsOfChannel = 1;  // in shared memory: the bias
constexpr TiledMemory memory(const TiledWindow& main) {
  return tiled_memory(main, kWordsOfChannel, 0);
}

// Terms of bf16 whose sum a number of x is.
constexpr s32 x_terms(Number x) { return x == Number::f32 ? 3 : 1; }
// Products of 16 of k; so many of a piece, and of them those whose sums leave the tensor core, which truncates, together.
constexpr s32 kStep = 16, kMostOfPart = 2;
constexpr s32 steps(const TiledWindow& s) { return numbers_of_piece(s) / kStep; }
constexpr s32 steps_of_part(const TiledWindow& s) {
  return steps(s) < kMostOfPart ? 1 : kMostOfPart;
}

// Registers of a thread: its sums, those of a part, and terms of x, which it makes for the next part beside this one's products where there is room.
constexpr s32 sums(const WindowTile& t) { return t.bm_wg / 64 * t.bn / 2; }
constexpr s32 operand_words(const WindowTile& t, Number x) {
  return t.bm_wg / 64 * kMostOfPart * 4 * x_terms(x);
}
constexpr s32 registers(const WindowTile& t, Number x, s32 operands) {
  constexpr s32 kOthers = 44;
  return 2 * sums(t) + operands * operand_words(t, x) + kOthers;
}
constexpr s32 most_registers(const WindowTile& t) {
  constexpr s32 kOfMultiprocessor = 65536, kStepOfRegisters = 8, kMost = 255;
  const s32 own = kOfMultiprocessor / ((128 * t.warpgroups + 32) * t.blocks);
  return own > kMost ? kMost : own / kStepOfRegisters * kStepOfRegisters;
}
constexpr bool is_ahead(const WindowTile& t, Number x) {
  return registers(t, x, 2) <= most_registers(t);
}

// Of x a lane owns four neighbouring numbers of each step, 4 * lane % 4 of a row's bytes: those of f32 lie so that lanes meet no bank twice.
constexpr s32 byte_of_step(const TiledWindow& s, s32 step, s32 q) {
  return s.number_bytes == 4 ? (q * steps(s) + step) * 16 : step * 16 + 4 * q;
}
// Where number `k` of a piece stands in a row of weights, so that the tensor core multiplies it by the same of x.
constexpr s32 place_of_number(const TiledWindow& s, s32 k) {
  const s32 four = k / 4, e = k % 4;
  const s32 step = s.number_bytes == 4 ? four % steps(s) : four / 4;
  const s32 q = s.number_bytes == 4 ? four / steps(s) : four % 4;
  return step * kStep + e / 2 * 8 + 2 * q + e % 2;
}
// The row of weights of a channel: channel_of_row()'s reverse.
constexpr s32 row_of_channel(s32 c, const WindowTile& t) {
  const s32 own = own_channels(t), in_group = c % t.group, rest = in_group % own;
  return c - in_group + rest / 2 * 8 + in_group / own * 2 + rest % 2;
}
// In words of 16 bits; k: taps, and within a tap channels.
struct WeightAt {
  s32 channel, k, term;
};
constexpr s64 word_of_weight(const Spec& s, const WeightAt& w) {
  const TiledWindow& m = s.main;
  const s32 numbers = numbers_of_piece(m), c = w.k % m.window.cin;
  const s32 piece = w.k / m.window.cin * chunks(m) + c / numbers;
  const s64 row = row_of_channel(w.channel, m.tile);
  return ((row * pieces(m) + piece) * m.w_terms + w.term) * numbers +
         place_of_number(m, c % numbers);
}

#define TERMS_WGMMA_RULES(RULE)                                                          \
  TILED_WINDOW_RULES(RULE, s.main)                                                       \
  RULE(s.main.w_terms == 1 || s.main.w_terms == 3, "a weight is one term or three")      \
  RULE(s.x == Number::f32 || is_code(s.x), "numbers of 16 bits are products themselves") \
  RULE(s.main.number_bytes == bytes_of(s.x), "numbers of x have their bytes")            \
  RULE(s.main.tile.sub == 1, "a stage is a piece")                                       \
  RULE(!s.main.tile.pingpong && s.main.tile.mode != XMode::halo,                         \
       "warpgroups share tiles, whose rows are pixels in order")                         \
  RULE(s.main.tile.bn <= 128, "sums and those of a part lie in registers")               \
  RULE(own_channels(s.main.tile) % s.y_access == 0, "a thread stores its own channels")
OCTET_RULES(Spec, TERMS_WGMMA_RULES)

struct Params {
  TensorMap x;
  TensorMap weights;    // padded_channels rows of words: word_of_weight()
  const void* numbers;  // what the maps are of
  const u16* words;
  RealEndParams end;
};

}  // namespace octet::cuda::terms_wgmma
