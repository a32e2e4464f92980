// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products of 16-bit floats by warpgroups of a Hopper: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/real_end.h"
#include "backends/cuda/device/tiled_window.h"

namespace octet::cuda::product_wgmma {

#define PRODUCT_WGMMA_FIELDS(FIELD)                                                  \
  FIELD(TiledWindow, main)                                                           \
  FIELD(ConvOperands, at)                                                            \
  FIELD(RealEnd, end)                                                                \
  FIELD(bool, f16)       /* numbers of x and of the weights; else bf16 */            \
  FIELD(bool, late_bias) /* the bias is no constant: a kernel before may write it */ \
  FIELD(s32, y_access)   /* channels that are stored at once */
OCTET_SPEC(Spec, PRODUCT_WGMMA_FIELDS)

constexpr s32 kWordsOfChannel = 1;  // in shared memory: the bias
constexpr TiledMemory memory(const TiledWindow& main) {
  return tiled_memory(main, kWordsOfChannel, 0);
}

// Registers that hold sums, and what waits to be added to them: a thread has 168, or 80 where two blocks share a multiprocessor.
constexpr s32 sums(const WindowTile& t) { return t.bm_wg / 64 * t.bn / 2; }
constexpr s32 residual_words(const WindowTile& t, Number residual) {
  return t.bm_wg / 32 * own_channels(t) * bytes_of(residual) / 4;  // of a group of channels
}
// Groups whose residual a thread asks for before they are ended: as many as registers hold, all of them before the products.
constexpr s32 groups_ahead(const WindowTile& t, Number residual) {
  const s32 most = (t.blocks > 1 ? 48 : 120) - sums(t);
  const s32 groups = most / residual_words(t, residual), all = t.bn / t.group;
  return groups < 1 ? 1 : groups < all ? groups : all;
}

#define PRODUCT_WGMMA_RULES(RULE)                                                      \
  TILED_WINDOW_RULES(RULE, s.main)                                                     \
  RULE(s.main.number_bytes == 2, "numbers have 16 bits")                               \
  RULE(s.main.tile.residuals == 0 ||                                                   \
           (s.end.residual && s.main.residual_bytes == bytes_of(s.end.residual_type)), \
       "what is brought is the residual")                                              \
  RULE(own_channels(s.main.tile) % s.y_access == 0, "a thread stores its own channels")
OCTET_RULES(Spec, PRODUCT_WGMMA_RULES)

struct Params {
  TensorMap x;
  TensorMap
      weights;  // padded_channels rows of pieces * k_bytes bytes: for each tap the channels, filled up with zeros; channel_of_row()
  TensorMap residual;  // where tile.residuals: as rows of pixels
  RealEndParams end;
};

}  // namespace octet::cuda::product_wgmma
