// SPDX-License-Identifier: Apache-2.0
// Products of reals on Hopper as sums of products of 16-bit terms: the loading warp of device/tiled_window.cuh brings x as it lies in memory and weights as terms; x becomes terms in registers,
// from which wgmma multiplies it. Sums leave the tensor core, which truncates, after each 32 of k.
#include "backends/cuda/device/real_end.cuh"
#include "backends/cuda/device/terms.cuh"
#include "backends/cuda/device/tiled_window.cuh"

using namespace octet::cuda;
using namespace octet::cuda::terms_wgmma;

constexpr Spec s = Made::spec();
TERMS_WGMMA_RULES(OCTET_RULE_ASSERT)

using End = RealEnding<PartOf<Made, &Spec::end>, true>;
struct OwnWindow {
  static constexpr TiledWindow spec() { return Made::spec().main; }
  static constexpr TiledMemory memory() { return terms_wgmma::memory(Made::spec().main); }
};
using Tiles = WindowTiles<OwnWindow>;

constexpr ConvWindow w = s.main.window;
constexpr s32 kCout = w.cout, kBn = s.main.tile.bn, kThreads = Tiles::kThreads, kSums = kBn / 2;
constexpr s32 kGroup = Tiles::kGroup, kGroups = Tiles::kGroups, kChannels = Tiles::kChannels, kTall = Tiles::kTall, kRows = Tiles::kRows;
constexpr s32 kXTerms = x_terms(s.x), kWTerms = s.main.w_terms;
constexpr s32 kOfPart = steps_of_part(s.main), kPartsOfPiece = steps(s.main) / kOfPart, kParts = Tiles::kPieces * kPartsOfPiece;
constexpr bool kAhead = is_ahead(s.main.tile, s.x);

// A thread's numbers of a part, as terms: of rows lane / 4 and 8 further of its warp's 16.
struct Operand {
  u32 at[kTall][kOfPart][kXTerms][4];
};

__device__ __forceinline__ void set_terms(Operand& to, s32 m, s32 i, s32 half, f32 (&left)[4]) {
#pragma unroll
  for (s32 t = 0; t < kXTerms; ++t) {
    to.at[m][i][t][half] = upper_halves(left[0], left[1]);
    to.at[m][i][t][half + 2] = upper_halves(left[2], left[3]);
#pragma unroll
    for (s32 e = 0; e < 4; ++e) left[e] = without_upper_half(left[e]);
  }
}
// bf16 holds codes less their zero point; sums are scaled.
__device__ __forceinline__ f32 code_real(u32 word, s32 e) {
  const u8 code = (u8)(word >> (8 * e));
  return s.x == Number::s8 ? centered((s8)code, w.zero_point) : centered(code, w.zero_point);
}
// Of part `part` of a piece that lies at x; `odd` gets bits where a number has no terms.
__device__ __forceinline__ void load(Operand& to, const u8* x, s32 row, s32 part, u32& odd) {
#pragma unroll
  for (s32 m = 0; m < kTall; ++m)
#pragma unroll
    for (s32 i = 0; i < kOfPart; ++i)
#pragma unroll
      for (s32 half = 0; half < 2; ++half) {
        const s32 byte = byte_of_step(s.main, part * kOfPart + i, threadIdx.x % 4);
        const u8* from = x + swizzled(row + m * 64 + half * 8, byte, Tiles::kKBytes);
        if constexpr (s.x == Number::f32) {
          const float4 four = *(const float4*)from;
          f32 reals[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
          for (s32 e = 0; e < 4; ++e) odd |= has_no_terms(reals[e]);
          set_terms(to, m, i, half, reals);
        } else {
          const u32 word = *(const u32*)from;
          f32 reals[4] = {code_real(word, 0), code_real(word, 1), code_real(word, 2), code_real(word, 3)};
          set_terms(to, m, i, half, reals);
        }
      }
}

// The smallest products first.
__device__ __forceinline__ void multiply(f32 (&sums)[kTall][kSums], const Operand& a, u32 weights, s32 part) {
  constexpr s32 kLast = kXTerms > kWTerms ? kXTerms - 1 : kWTerms - 1, kRow = Tiles::kWeightsRow;  // of the products of terms i and j, i + j
  const u64 b = operand<kRow>(weights) + part * kOfPart * 2;
  products_begin();
#pragma unroll
  for (s32 m = 0; m < kTall; ++m) {
    bool first = true;
#pragma unroll
    for (s32 sum = kLast; sum >= 0; --sum)
#pragma unroll
      for (s32 i = 0; i < kOfPart; ++i)
#pragma unroll
        for (s32 t = 0; t < kXTerms; ++t) {
          if (sum - t < 0 || sum - t >= kWTerms) continue;
          product<false>(sums[m], a.at[m][i][t], b + ((sum - t) * kBn * kRow >> 4) + i * 2, !first);
          first = false;
        }
  }
  products_end();
}

__device__ __forceinline__ void add(f32 (&acc)[kTall][kSums], f32 (&part)[kTall][kSums]) {
#pragma unroll
  for (s32 m = 0; m < kTall; ++m) {
    hold(part[m]);
#pragma unroll
    for (s32 i = 0; i < kSums; ++i) acc[m][i] = f32_add(acc[m][i], part[m][i]);
  }
}

// All of a tile's products. A stage is free again once the products that read its weights have ended.
__device__ __forceinline__ void multiply_tile(f32 (&acc)[kTall][kSums], const u8* base, u32 memory, const Tiles::Barriers& barriers, Tiles::Stage& stage, s32 row, u32& odd) {
  f32 sums[kTall][kSums];
  Operand own, next;
#pragma unroll 1
  for (s32 part = 0; part < kParts; ++part) {
    const s32 of_piece = part % kPartsOfPiece;
    if (part == 0 || (!kAhead && of_piece == 0)) barrier_wait(barriers.full + 8 * stage.index, stage.phase);
    if (part == 0 || !kAhead) load(own, base + stage.index * Tiles::kXBlock, row, of_piece, odd);
    const s32 index = stage.index, last = of_piece == kPartsOfPiece - 1;
    multiply(sums, own, memory + Tiles::kOffWeights + (Tiles::kResident ? part / kPartsOfPiece : index) * Tiles::kWeightsBlock, of_piece);
    if (last) stage.next();
    if (kAhead && part + 1 < kParts) {
      if (last) barrier_wait(barriers.full + 8 * stage.index, stage.phase);
      load(next, base + stage.index * Tiles::kXBlock, row, last ? 0 : of_piece + 1, odd);
    }
    products_wait<0>();
    add(acc, sums);
    __syncwarp();
    if (last && threadIdx.x % 32 == 0) barrier_arrive(barriers.empty + 8 * index);
    if (kAhead) own = next;
  }
}

__device__ __forceinline__ void prepare(const Params& p, u8* base, s32 first, s32 columns) {
  if constexpr (s.end.bias) {
    if constexpr (s.late_bias) wait_for_predecessor();
    f32* bias = (f32*)(base + Tiles::kOffEnd);
#pragma unroll 4
    for (s32 i = first + threadIdx.x; i < first + columns; i += kThreads) bias[i] = i < kCout ? p.end.bias[i] : 0.0f;
  }
}

__device__ __forceinline__ f32 scaled(f32 sum) { return is_code(s.x) ? f32_mul(sum, value_of(s.end.x_scale)) : sum; }

// The first group of the sums, which is number `g` of its tile.
__device__ __forceinline__ void finish(const Params& p, const f32 (&acc)[kTall][kSums], const TilePixel (&at)[kRows], s32 channel, const u8* base, s32 n_tile, s32 g) {
  constexpr s32 kAccess = s.y_access;
  f32 bias[kChannels] = {};
  if constexpr (s.end.bias) {
    const f32* from = (const f32*)(base + Tiles::kOffEnd) + n_tile * kBn + g * kGroup + threadIdx.x % 4 * kChannels;
#pragma unroll
    for (s32 c = 0; c < kChannels; c += 4) {
      const float4 four = *(const float4*)(from + c);
      bias[c] = four.x, bias[c + 1] = four.y, bias[c + 2] = four.z, bias[c + 3] = four.w;
    }
  }
#pragma unroll
  for (s32 row = 0; row < kRows; ++row) {
    const s64 y = Tiles::place(at[row], s.at.y) + channel, residual = Tiles::place(at[row], s.at.residual) + channel;
#pragma unroll
    for (s32 v = 0; v < kChannels; v += kAccess) {
      f32 sums[kAccess], biases[kAccess];
#pragma unroll
      for (s32 e = 0; e < kAccess; ++e) sums[e] = scaled(acc[row / 2][(v + e) / 2 * 4 + row % 2 * 2 + (v + e) % 2]), biases[e] = bias[v + e];
      if (at[row].exists && channel + v < kCout) End::store_at<kAccess>(p.end, y + v, residual + v, sums, biases);
    }
  }
}

// A sum without terms.
__device__ __forceinline__ f32 serial_sum(const Params& p, const TilePixel& pixel, s32 channel) {
  f32 sum = 0.0f;
#pragma unroll 1
  for (s32 k = 0; k < w.taps_h * w.taps_w * w.cin; ++k) {
    const s32 tap = k / w.cin;
    const s32 h = pixel.h * w.stride_h - w.pad_top + tap / w.taps_w * w.dilation_h, x = pixel.w * w.stride_w - w.pad_left + tap % w.taps_w * w.dilation_w;
    if ((u32)h >= (u32)w.in_h || (u32)x >= (u32)w.in_w) continue;
    f32 weight = 0.0f;
    for (s32 t = kWTerms - 1; t >= 0; --t) weight = f32_add(weight, real_of_bf16(p.words[word_of_weight(s, {channel, k, t})]));
    sum = f32_fma(((const f32*)p.numbers)[pixel.n * s.at.x.image + h * s.at.x.row + x * s.at.x.pixel + k % w.cin], weight, sum);
  }
  return sum;
}
// A warp that meets an infinity or NaN in x, of which terms would make NaN: once more, from x itself.
__device__ __noinline__ void store_serial_sums(const Params& p, s32 m_tile, s32 n_tile, s32 first_row) {
  for (s32 i = threadIdx.x % 32; i < 16 * kTall * kBn; i += 32) {
    const s32 row = i / kBn, channel = n_tile * kBn + i % kBn;
    const TilePixel pixel = Tiles::pixel_of(m_tile, first_row + row / 16 * 64 + row % 16);
    if (!pixel.exists || channel >= kCout) continue;
    const f32 sum[1] = {serial_sum(p, pixel, channel)};
    End::store<1>(p.end, channel, Tiles::place(pixel, s.at.y) + channel, Tiles::place(pixel, s.at.residual) + channel, sum);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, s.main.tile.blocks) octet_kernel(const __grid_constant__ Params p) {
  constexpr s32 kWarpgroups = Tiles::kWarpgroups, kNTiles = Tiles::kNTiles;
  const u32 memory = (shared_address(shared_memory) + 1023) & ~1023u;
  u8* base = shared_memory + (memory - shared_address(shared_memory));
  const Tiles::Barriers barriers(memory);
  const s32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  if (threadIdx.x == 0) barriers.init();
  // A block whose tiles are all of one column needs no other channels' constants.
  const bool one_column = Tiles::kResident || gridDim.x >= Tiles::kTiles;
  prepare(p, base, one_column ? blockIdx.x % kNTiles * kBn : 0, one_column ? kBn : kNTiles * kBn);
  __syncthreads();
  let_successor_begin();
  if (warp == 4 * kWarpgroups) {
    if (lane == 0) Tiles::load_all(p, memory, barriers);
    return;
  }
  wait_for_predecessor();
  if constexpr (Tiles::kResident) {
    if (blockIdx.x < Tiles::kTiles) barrier_wait(barriers.resident, 0);
  }
  const s32 first_row = warp / 4 * s.main.tile.bm_wg + warp % 4 * 16;  // of the warp
  Tiles::Stage stage = {0, 0};
  for (s32 tile = blockIdx.x; tile < Tiles::kTiles; tile += gridDim.x) {
    const s32 m_tile = tile / kNTiles, n_tile = tile % kNTiles;
    f32 acc[kTall][kSums] = {};
    u32 odd = 0;
    multiply_tile(acc, base, memory, barriers, stage, first_row + lane / 4, odd);
    if (s.x == Number::f32 && __any_sync(~0u, odd != 0)) {
      store_serial_sums(p, m_tile, n_tile, first_row);
      continue;
    }
    TilePixel at[kRows];
#pragma unroll
    for (s32 row = 0; row < kRows; ++row) at[row] = Tiles::pixel_of(m_tile, first_row + lane / 4 + row / 2 * 64 + row % 2 * 8);
#pragma unroll (s.main.tile.rolled ? 1 : kGroups)
    for (s32 g = 0; g < kGroups; ++g) {
      finish(p, acc, at, n_tile * kBn + lane % 4 * kChannels + g * kGroup, base, n_tile, g);
      Tiles::next_group(acc);
    }
  }
}
