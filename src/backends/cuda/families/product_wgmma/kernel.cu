// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit floats on Hopper, sums in f32: the end of tiles, which device/tiled_window.cuh multiplies.
#include "backends/cuda/device/real_end.cuh"
#include "backends/cuda/device/tiled_window.cuh"

using namespace octet::cuda;
using namespace octet::cuda::product_wgmma;

constexpr Spec s = Made::spec();
PRODUCT_WGMMA_RULES(OCTET_RULE_ASSERT)

using End = RealEnding<PartOf<Made, &Spec::end>, true>;
struct OwnWindow {
  static constexpr TiledWindow spec() { return Made::spec().main; }
  static constexpr TiledMemory memory() { return product_wgmma::memory(Made::spec().main); }
};
using Tiles = WindowTiles<OwnWindow>;

constexpr s32 kCout = s.main.window.cout, kBn = s.main.tile.bn, kThreads = Tiles::kThreads;
constexpr s32 kGroup = Tiles::kGroup, kGroups = Tiles::kGroups, kChannels = Tiles::kChannels, kTall = Tiles::kTall, kRows = Tiles::kRows;
// Groups of channels whose residual is held; of fewer than all one comes as another ends.
constexpr bool kBrought = Tiles::kResiduals > 0, kOwnResidual = s.end.residual && !kBrought;
constexpr s32 kDepth = kOwnResidual ? groups_ahead(s.main.tile, s.end.residual_type) : 1, kFirst = kDepth == kGroups ? kDepth : kDepth - 1;
constexpr s32 kAccess = s.y_access, kAccesses = kChannels / kAccess;

struct OwnEnd {
  typedef f32 Sum;

  static __device__ __forceinline__ void multiply(f32 (&d)[kBn / 2], u64 a, u64 b, s32 sum) { product<s.f16>(d, a, b, sum); }

  static __device__ __forceinline__ void prepare(const Params& p, u8* base, s32 first, s32 columns) {
    if constexpr (s.end.bias) {
      if constexpr (s.late_bias) wait_for_predecessor();
      f32* bias = (f32*)(base + Tiles::kOffEnd);
#pragma unroll 4
      for (s32 i = first + threadIdx.x; i < first + columns; i += kThreads) bias[i] = i < kCout ? p.end.bias[i] : 0.0f;
    }
  }

  typedef Piece<End::kResidualBytes * kAccess> Residual;

  // The residual of the next groups of channels, in registers or in shared memory.
  struct Ahead {
    Residual own[kDepth][kOwnResidual ? kRows : 1][kAccesses];
    const u8* brought;

    __device__ __forceinline__ void came(const u8* at) { brought = at; }

    __device__ __forceinline__ void load(s32 slot, const Params& p, const TilePixel (&at)[kRows], s32 channel) {
      if constexpr (kOwnResidual) {
#pragma unroll
        for (s32 row = 0; row < kRows; ++row) {
          const u8* from = (const u8*)p.end.residual + (Tiles::place(at[row], s.at.residual) + channel) * End::kResidualBytes;
#pragma unroll
          for (s32 v = 0; v < kAccesses; ++v)
            if (at[row].exists && channel + v * kAccess < kCout)
              own[slot][row][v] = piece_at<End::kResidualBytes * kAccess>(from + v * kAccess * End::kResidualBytes);
        }
      }
    }
    __device__ __forceinline__ void read(const Params& p, const TilePixel (&at)[kRows], s32 channel) {
#pragma unroll
      for (s32 g = 0; g < kFirst; ++g) load(g, p, at, channel + g * kGroup);
    }
    __device__ __forceinline__ void next() {
#pragma unroll
      for (s32 g = 1; g < kDepth; ++g)
#pragma unroll
        for (s32 row = 0; row < (kOwnResidual ? kRows : 1); ++row)
#pragma unroll
          for (s32 v = 0; v < kAccesses; ++v) own[g - 1][row][v] = own[g][row][v];
      if constexpr (kBrought) brought += residual_box(s.main);
    }
    // Of access `v` of a row of the first group.
    __device__ __forceinline__ Residual at(const TilePixel& pixel, s32 row, s32 v) const {
      if constexpr (kBrought) {
        constexpr s32 kBytes = sizeof(Residual), kPart = kBytes < 16 ? kBytes : 16;
        const s32 first = (threadIdx.x % 4 * kChannels + v * kAccess) * End::kResidualBytes;
        Residual piece;
#pragma unroll
        for (s32 b = 0; b < kBytes; b += kPart) {
          const Piece<kPart> part = piece_at<kPart>(brought + swizzled(pixel.m % Tiles::kBm, first + b, residual_row(s.main)));
#pragma unroll
          for (s32 i = 0; i < (s32)(kPart / sizeof(part.words[0])); ++i) piece.words[b / (s32)sizeof(part.words[0]) + i] = part.words[i];
        }
        return piece;
      }
      return own[0][kOwnResidual ? row : 0][v];
    }
  };

  static __device__ __forceinline__ void finish(const Params& p, const f32 (&acc)[kTall][kBn / 2], const TilePixel (&at)[kRows], s32 channel, u8* base,
                                                Ahead& ahead, s32 n_tile, s32 g) {
    if (kOwnResidual && kFirst < kGroups && g + kFirst < kGroups) ahead.load(kDepth - 1, p, at, channel + kFirst * kGroup);
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
      u8* to = (u8*)p.end.y + (Tiles::place(at[row], s.at.y) + channel) * End::kYBytes;
#pragma unroll
      for (s32 v = 0; v < kChannels; v += kAccess) {
        f32 t[kAccess];
        Residual residual = {};
        if constexpr (s.end.residual) residual = ahead.at(at[row], row, v / kAccess);
#pragma unroll
        for (s32 e = 0; e < kAccess; ++e) {
          const f32 sum = acc[row / 2][(v + e) / 2 * 4 + row % 2 * 2 + (v + e) % 2];
          t[e] = End::real_of(sum, bias[v + e], s.end.residual ? real_at<s.end.residual_type>(residual, e) : 0.0f);
        }
        if (at[row].exists && channel + v < kCout) *(Piece<End::kYBytes * kAccess>*)(to + v * End::kYBytes) = End::packed(t);
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, s.main.tile.blocks) octet_kernel(const __grid_constant__ Params p) { Tiles::run<OwnEnd>(p); }
