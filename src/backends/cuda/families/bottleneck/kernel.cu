// SPDX-License-Identifier: Apache-2.0
// A ResNet bottleneck of codes on Hopper: 1x1 to at most 64 channels (reduce), 3x3 (spatial), 1x1 (expand) and what is added to it: x, or
// a 1x1 projection of x, or nothing. What passes between them stays in shared memory and registers.
//
// A row of an image is a tile of 64 rows of a product. Each warpgroup walks its own rows of all images, alone: the reduced row goes into a
// ring of three in shared memory, in which a tap of the 3x3 window is a shift; the spatial row is requantised in registers, where it is
// the first operand of the expansion as it lies.
#include "backends/cuda/device/epilogue.cuh"
#include "backends/cuda/device/hopper.cuh"

using namespace octet::cuda;
using namespace octet::cuda::bottleneck;

constexpr Spec s = Made::spec();
BOTTLENECK_RULES(OCTET_RULE_ASSERT)

constexpr bool kProjects = s.shortcut == Shortcut::projection, kAddsBias = s.bias_added;
constexpr s32 kWidth = s.width, kHeight = s.height, kChunks = s.chunks, kGroups = groups(s);
constexpr s32 kWarpgroups = s.warpgroups, kStages = s.stages, kThreads = threads(s), kEnds = ends(s);
constexpr s32 kTiles = tiles(s).all, kSpatialTile = tiles(s).spatial, kExpandTile = tiles(s).expand, kProjectTile = tiles(s).project;
constexpr s32 kBiasTile = tiles(s).bias;
constexpr s32 kChunkBytes = (s32)memory(s).chunk, kRowBytes = (s32)memory(s).x_row, kSlot = (s32)memory(s).slot, kRingBytes = (s32)memory(s).ring;
constexpr s32 kOffX = (s32)memory(s).x, kOffRings = (s32)memory(s).rings, kOffScales = (s32)memory(s).scales, kOffBiases = (s32)memory(s).biases;
constexpr s32 kOffBarriers = (s32)memory(s).barriers;
constexpr u32 kBorder = (u32)(s.border & 255) * 0x01010101u;

extern __shared__ u8 shared_memory[];

// What a thread knows of its place: rows px and px + 8 of each product, and channels 16q to 16q + 15 of each 64.
struct Thread {
  u8* base;    // of the block's shared memory
  u32 memory;  // its address
  s32 q, px;
};

// Scales or biases of 64 channels in the order of threads, one quarter ahead of its use.
struct FromShared {
  const uint4* at;
  uint4 ahead;
  __device__ __forceinline__ FromShared(const u8* all, const Thread& thread, s32 group)
      : at((const uint4*)(all + group * 256 + thread.q * 16)), ahead(*at) {}
  __device__ __forceinline__ uint4 take(s32 p) {
    const uint4 now = ahead;
    if (p < 3) ahead = at[4 * (p + 1)];
    return now;
  }
};
struct Kept {
  uint4 all[4];
  __device__ __forceinline__ Kept(const u8* scales, const Thread& thread, s32 group) {
#pragma unroll
    for (s32 p = 0; p < 4; ++p) all[p] = ((const uint4*)(scales + group * 256 + thread.q * 16))[4 * p];
  }
  __device__ __forceinline__ uint4 take(s32 p) const { return all[p]; }
};

template <bool kAdded>
struct Biases : FromShared {
  __device__ __forceinline__ Biases(const u8* all, const Thread& thread, s32 group) : FromShared(all, thread, group) {}
};
// Products have added them.
template <>
struct Biases<false> {
  __device__ __forceinline__ Biases(const u8*, const Thread&, s32) {}
  __device__ __forceinline__ uint4 take(s32) const { return make_uint4(0, 0, 0, 0); }
};

// Sums of four channels of a pixel to their codes.
template <class Own>
struct Codes4 {
  static __device__ __forceinline__ u32 codes(const s32 (&sums)[4], const uint4& scales, u32 shortcut) {
    using End = Epilogue<Own>;
    const u32 scale[4] = {scales.x, scales.y, scales.z, scales.w};
    f32 t[4];
#pragma unroll
    for (s32 e = 0; e < 4; ++e) t[e] = End::product_real(sums[e], f32_bits(scale[e]), End::residual_real(shortcut, e));
    return End::product_codes(t, nullptr, (const u8*)&shortcut);
  }
};
using Reduce = Codes4<PartOf<Made, &Spec::reduce>>;
using Spatial = Codes4<PartOf<Made, &Spec::spatial>>;
using Expand = Codes4<PartOf<Made, &Spec::expand>>;
using Project = Codes4<PartOf<Made, &Spec::project>>;

// Codes of 64 channels of a thread's two pixels: codes[i][p] are channels 16q + 4p to 16q + 4p + 3 of pixel px + 8i.
typedef u32 Codes[2][4];

template <class End, class Scales>
__device__ __forceinline__ void finish(Codes& codes, const s32 (&acc)[32], const Thread& thread, Scales& scales, s32 group, const Codes& shortcut) {
  Biases<kAddsBias> biases(thread.base + kOffBiases, thread, group);
#pragma unroll
  for (s32 p = 0; p < 4; ++p) {
    const uint4 scale = scales.take(p);
    const uint4 bias = biases.take(p);
#pragma unroll
    for (s32 i = 0; i < 2; ++i) {
      const s32* own = acc + 8 * p + 2 * i;
      const s32 sums[4] = {own[0] + (s32)bias.x, own[1] + (s32)bias.y, own[4] + (s32)bias.z, own[5] + (s32)bias.w};
      codes[i][p] = End::codes(sums, scale, shortcut[i][p]);
    }
  }
}

// Begins a sum: the biases of a group, or nothing. Says whether there is something to add to.
__device__ __forceinline__ s32 begin_sum(s32 (&acc)[32], const Thread& thread, s32 group) {
  if constexpr (!kAddsBias) {
    const u32 ones[4] = {thread.q == 0 ? 0xFFFFFF01u : ~0u, thread.q == 0 ? 0xFFFFFF01u : ~0u, ~0u, ~0u};
    const u64 digits = operand<64>(thread.memory + kBiasTile * kTileBytes);
    product<false>(acc, ones, digits + group / 2 * (kTileBytes >> 4) + group % 2 * 2, 0);
  }
  return !kAddsBias;
}

// 64 bytes of k from registers.
template <bool kSigned>
__device__ __forceinline__ void multiply(s32 (&acc)[32], const Codes& a, u64 b, s32 sum) {
#pragma unroll
  for (s32 k = 0; k < 2; ++k) {
    const u32 own[4] = {a[0][2 * k], a[1][2 * k], a[0][2 * k + 1], a[1][2 * k + 1]};
    product<kSigned>(acc, own, b + 2 * k, sum | k);
  }
}

// kGroups times 64 channels, each group's products under the end of the one before it: begin(acc, g) asks for products, end(acc, g) ends.
template <class Begin, class End>
__device__ __forceinline__ void for_groups(const Begin& begin, const End& end) {
  s32 acc[2][32];
  products_begin();
  begin(acc[0], 0);
  products_end();
  if (kGroups > 1) {
    begin(acc[1], 1);
    products_end();
  }
#pragma unroll
  for (s32 g = 0; g < kGroups; ++g) {
    s32(&own)[32] = acc[g % 2];
    end(own, g);
    if (g + 2 >= kGroups) continue;
    hold(own);
    products_begin();
    begin(own, g + 2);
    products_end();
  }
}
// In end(): the products of group g are there.
__device__ __forceinline__ void wait_for_group(s32 (&acc)[32], s32 g) {
  if (g + 1 < kGroups) {
    products_wait<1>();
  } else {
    products_wait<0>();
  }
  hold(acc);
}

// Sixteen channels from 16q of each chunk of the thread's pixels of a row of x; rows behind the last pixel read the first of the two.
__device__ __forceinline__ void load_pixels(Codes& to, const u8* chunk, const Thread& thread) {
#pragma unroll
  for (s32 i = 0; i < 2; ++i) {
    const s32 row = thread.px + 8 * i < kWidth ? thread.px + 8 * i : thread.px;
    const uint4 v = *(const uint4*)(chunk + row * 64 + ((thread.q ^ (row >> 1 & 3)) << 4));
    to[i][0] = v.x, to[i][1] = v.y, to[i][2] = v.z, to[i][3] = v.w;
  }
}

// What is added to a row of y.
__device__ __forceinline__ void make_shortcut(Codes (&shortcut)[kGroups], const u8* x, const Thread& thread) {
  if constexpr (s.shortcut == Shortcut::identity) {
#pragma unroll
    for (s32 g = 0; g < kGroups; ++g) load_pixels(shortcut[g], x + g * kChunkBytes, thread);
  }
  if constexpr (kProjects) {
    Codes pixels[kChunks];
#pragma unroll
    for (s32 c = 0; c < kChunks; ++c) load_pixels(pixels[c], x + c * kChunkBytes, thread);
    const u64 weights = operand<64>(thread.memory + kProjectTile * kTileBytes);
    const Codes none = {};
    for_groups(
        [&](s32(&acc)[32], s32 g) {
          s32 sum = begin_sum(acc, thread, 2 + kGroups + g);
#pragma unroll
          for (s32 c = 0; c < kChunks; ++c, sum = 1) multiply<s.x_signed>(acc, pixels[c], weights + (g * kChunks + c) * (kTileBytes >> 4), sum);
        },
        [&](s32(&acc)[32], s32 g) {
          FromShared scales(thread.base + kOffScales, thread, 2 + kGroups + g);
          wait_for_group(acc, g);
          finish<Project>(shortcut[g], acc, thread, scales, 2 + kGroups + g, none);
        });
  }
}

// A row of 64 channels of x's chunks at address `x`.
template <class Scales>
__device__ __forceinline__ void reduce_row(Codes& codes, u32 x, const Thread& thread, Scales& scales) {
  s32 acc[32];
  const u64 a = operand<64>(x), b = operand<64>(thread.memory);
  products_begin();
  s32 sum = begin_sum(acc, thread, 0);
#pragma unroll
  for (s32 c = 0; c < kChunks; ++c)
#pragma unroll
    for (s32 k = 0; k < 2; ++k, sum = 1) product<s.x_signed>(acc, a + (c * kChunkBytes >> 4) + 2 * k, b + c * (kTileBytes >> 4) + 2 * k, sum);
  products_end();
  products_wait<0>();
  hold(acc);
  finish<Reduce>(codes, acc, thread, scales, 0, Codes{});
}

// The products of a row with its neighbours in the ring, of which the one below lies in slot `below`.
__device__ __forceinline__ void multiply_window(s32 (&acc)[32], u32 ring, s32 below, const Thread& thread) {
  const s32 above = below == 2 ? 0 : below + 1, own = below == 0 ? 2 : below - 1;
  const u64 rows[3] = {operand<64>(ring + above * kSlot), operand<64>(ring + own * kSlot), operand<64>(ring + below * kSlot)};
  const u64 b = operand<64>(thread.memory + kSpatialTile * kTileBytes);
  products_begin();
  s32 sum = begin_sum(acc, thread, 1);
#pragma unroll
  for (s32 tap = 0; tap < 9; ++tap)
#pragma unroll
    for (s32 k = 0; k < 2; ++k, sum = 1) product<s.reduced_signed>(acc, rows[tap / 3] + tap % 3 * 4 + 2 * k, b + tap * (kTileBytes >> 4) + 2 * k, sum);
  products_end();
  products_wait<0>();
  hold(acc);
}

__device__ __forceinline__ void store_pixel(u8* to, const u32 (&codes)[4], s32 channel) {
#pragma unroll
  for (s32 v = 0; v < 16; v += s.y_access)
    if (s.cout % 64 == 0 || channel + v < s.cout) store_codes<s.y_access>(to + channel + v, (const u8*)codes + v);
}

// A row of y at `to` from a row of spatial codes.
__device__ __forceinline__ void expand_row(u8* to, const Codes& row, const Codes (&shortcut)[kGroups], const Thread& thread) {
  const u64 weights = operand<64>(thread.memory + kExpandTile * kTileBytes);
  for_groups(
      [&](s32(&acc)[32], s32 g) {
        const s32 sum = begin_sum(acc, thread, 2 + g);
        multiply<s.spatial_signed>(acc, row, weights + g * (kTileBytes >> 4), sum);
      },
      [&](s32(&acc)[32], s32 g) {
        FromShared scales(thread.base + kOffScales, thread, 2 + g);
        wait_for_group(acc, g);
        Codes codes;
        finish<Expand>(codes, acc, thread, scales, 2 + g, shortcut[g]);
#pragma unroll
        for (s32 i = 0; i < 2; ++i)
          if (thread.px + 8 * i < kWidth) store_pixel(to + (s64)(thread.px + 8 * i) * s.y.pixel, codes[i], g * 64 + thread.q * 16);
      });
}

// The rows of y of a warpgroup, and those of x that they need. One row of zero points stands before each image and one behind the last:
// row g of all images is row v = g + g / kHeight + 1 of these.
struct Walk {
  s32 steps, v_first;   // from the row before the first to the one behind the last
  s32 x_first, x_last;  // none where there are no steps

  __device__ __forceinline__ explicit Walk(s32 walk) {
    const s32 walks = gridDim.x * kWarpgroups;
    const s32 first = (s32)((s64)walk * s.rows / walks), last = (s32)((s64)(walk + 1) * s.rows / walks) - 1;
    const s32 v_last = last + last / kHeight + 2;
    v_first = first + first / kHeight;
    steps = first <= last ? v_last - v_first + 1 : 0;
    x_first = v_first % (kHeight + 1) != 0 ? first - 1 : first;
    x_last = v_last % (kHeight + 1) != 0 ? last + 1 : last;
  }
};

// Asks for a row of x.
__device__ __forceinline__ void load_row(const Params& p, s32 row, u32 to, u32 full) {
  barrier_expect(full, kChunks * kWidth * 64);
#pragma unroll
  for (s32 c = 0; c < kChunks; ++c) load_box4(to + c * kChunkBytes, &p.x, full, c * 64, 0, row % kHeight, row / kHeight);
}

// Barriers, weights, what ends need, and the border of the rings: all that depends on no predecessor.
__device__ __forceinline__ void prepare_block(const Params& p, u8* base, u32 memory) {
  const s32 in_group = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    const u32 weights = memory + kOffBarriers;
    barrier_init(weights, 1);
#pragma unroll 1
    for (s32 i = 0; i < kWarpgroups * (kStages + 1); ++i) barrier_init(weights + 8 + 8 * i, i % (kStages + 1) < kStages ? 1 : 4);
    barriers_are_ready();
    barrier_expect(weights, kTiles * kTileBytes);
#pragma unroll 1
    for (s32 tile = 0; tile < kTiles; ++tile) load_box2(memory + tile * kTileBytes, &p.weights, weights, 0, tile * 64);
  }
  for (s32 i = threadIdx.x; i < 64 * kEnds; i += 128 * kWarpgroups) {
    ((f32*)(base + kOffScales))[i] = p.scales[i];
    if constexpr (kAddsBias) ((s32*)(base + kOffBiases))[i] = p.biases[i];
  }
  if (in_group >= 24) return;
  u8* pixel = base + kOffRings + threadIdx.x / 128 * kRingBytes + in_group / 8 * kSlot + in_group / 4 % 2 * (kWidth + 1) * 64;
  *(uint4*)(pixel + in_group % 4 * 16) = make_uint4(kBorder, kBorder, kBorder, kBorder);
}

// A row of reduced codes into a slot of the ring.
__device__ __forceinline__ void store_reduced(u8* base, s32 slot, const Codes& codes, const Thread& thread) {
#pragma unroll
  for (s32 i = 0; i < 2; ++i) {
    const s32 at = slot + (thread.px + 8 * i + 1) * 64;
    if (thread.px + 8 * i < kWidth)
      *(uint4*)(base + at + ((thread.q ^ (at >> 7 & 3)) << 4)) = make_uint4(codes[i][0], codes[i][1], codes[i][2], codes[i][3]);
  }
}

__device__ __forceinline__ s64 place_of_row(s32 row) {
  return s.y.image == (s64)kHeight * s.y.row ? (s64)row * s.y.row : (s64)(row / kHeight) * s.y.image + (s64)(row % kHeight) * s.y.row;
}

extern "C" __global__ void __launch_bounds__(128 * kWarpgroups, 1) octet_kernel(const __grid_constant__ Params p) {
  const u32 memory = (shared_address(shared_memory) + 1023) & ~1023u;
  u8* base = shared_memory + (memory - shared_address(shared_memory));
  const s32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32, wg = warp / 4;
  const Thread thread = {base, memory, lane % 4, warp % 4 * 16 + lane / 4};
  const bool loads = threadIdx.x % 128 == 0;
  const u32 weights = memory + kOffBarriers, full = weights + 8 + 8 * (kStages + 1) * wg, window_read = full + 8 * kStages;
  const s32 x = kOffX + wg * kStages * kRowBytes, ring = kOffRings + wg * kRingBytes;
  prepare_block(p, base, memory);
  const Walk walk(blockIdx.x * kWarpgroups + wg);
  __syncthreads();
  let_successor_begin();
  wait_for_predecessor();
  if (walk.steps == 0) return;
  if (loads)
    for (s32 i = 0; i < kStages && walk.x_first + i <= walk.x_last; ++i) load_row(p, walk.x_first + i, memory + x + i * kRowBytes, full + 8 * i);
  barrier_wait(weights, 0);
  Kept reduce_scales(base + kOffScales, thread, 0), spatial_scales(base + kOffScales, thread, 1);
  s32 in_image = walk.v_first % (kHeight + 1), slot = walk.v_first % 3;  // in_image 0: a row of zero points
  s32 reduced = 0, row = walk.x_first - 1;                          // rows of x so far, the last of them
  u32 phase = 0;
  bool has_row = false, read_before = false;  // the step before this one reduced `row`; it read a window
  for (s32 it = 0; it < walk.steps; ++it) {
    const bool has_y = has_row && it > 1;
    const s32 done = (reduced + kStages - 1) % kStages;  // the stage of `row`
    Codes shortcut[kGroups];
    if (has_y) make_shortcut(shortcut, base + x + done * kRowBytes, thread);
    Codes codes = {{kBorder, kBorder, kBorder, kBorder}, {kBorder, kBorder, kBorder, kBorder}};
    if (in_image != 0) {
      const s32 stage = reduced % kStages;
      barrier_wait(full + 8 * stage, reduced / kStages & 1);
      reduce_row(codes, memory + x + stage * kRowBytes, thread, reduce_scales);
      ++reduced;
    }
    if (read_before) {
      barrier_wait(window_read, phase);  // by every warp: the slot is free
      phase ^= 1;
    }
    store_reduced(base, ring + slot * kSlot, codes, thread);
    publish_shared();
    threads_meet<128>(1 + wg);
    if (loads && has_row && row + kStages <= walk.x_last) load_row(p, row + kStages, memory + x + done * kRowBytes, full + 8 * done);
    if (has_y) {
      s32 acc[32];
      multiply_window(acc, memory + ring, slot, thread);
      if (lane == 0) barrier_arrive(window_read);
      finish<Spatial>(codes, acc, thread, spatial_scales, 1, Codes{});
      expand_row(p.out + place_of_row(row), codes, shortcut, thread);
    }
    read_before = has_y;
    has_row = in_image != 0;
    if (has_row) ++row;
    in_image = in_image == kHeight ? 0 : in_image + 1;
    slot = slot == 2 ? 0 : slot + 1;
  }
}
