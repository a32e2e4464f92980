// SPDX-License-Identifier: Apache-2.0
// A ResNet bottleneck of codes on Hopper: 1x1 to at most 64 channels (reduce), 3x3 (spatial), 1x1 (expand) and what is added to it: x, or
// a 1x1 projection of x, or nothing. What passes between them stays in shared memory and registers.
//
// A row of an image is a tile of 64 rows of a product. Each warpgroup walks its own rows of all images, alone: the reduced row goes into a
// ring of three in shared memory, in which a tap of the 3x3 window is a shift; the spatial row is requantised in registers, where it is
// the first operand of the expansion as it lies.
//
// Constants:
//   rows       WI (at most 64), HI, ROWS (of all images), CHUNKS (of 64 channels of x), CHUNK_BYTES (of a row of x; a multiple of 512)
//   channels   COUT, GROUPS (of 64 channels of y), SHORTCUT: 0 none, 1 x, 2 a projection
//   types      X_S8, REDUCED_S8, SPATIAL_S8; BORDER (four codes of the reduced row's zero point)
//   y          Y_IMAGE, Y_ROW, Y_PIXEL, OUT_VEC
//   walks      NWG (warpgroups), STAGES (rows of x of a warpgroup in shared memory, at least 2)
//   memory     TILES (of 64 rows of 64 bytes: weights), W_SPATIAL, W_EXPAND, W_PROJECT, W_BIAS (first tiles of each), BIAS_ADDED;
//              OFF_X, OFF_RING, OFF_SCALES, OFF_BIASES, OFF_BARRIERS
//   ends       namespaces reduce, spatial, expand, project of kernels/epilogue.cu
// Weights: row 8j + 2q + e of a tile is channel 16q + 2j + e of 64. Where the first operand comes from registers (expand, project), byte
// 32k + 16h + 4q + e is channel 16q + 8k + 4h + e. Biases are one more product by a row of 1, 255, 255, ...: their digits to base 255;
// BIAS_ADDED: some have too many, so all are added.
#define TILE_BYTES 4096
#define SLOT ((WI + 2) * 64)  // a reduced row with a pixel of border on both sides
#define RING_BYTES ((3 * SLOT + 511) / 512 * 512)
#define X_ROW (CHUNKS * CHUNK_BYTES)
#define CHANNELS_OF_ENDS (64 * (2 + GROUPS * (SHORTCUT == 2 ? 2 : 1)))

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

// Sums of four channels of a pixel to their codes.
#define END_OF(Name, name)                                                                                            \
  struct Name {                                                                                                       \
    static __device__ __forceinline__ u32 codes(const s32 (&sums)[4], const uint4& scales, u32 shortcut) {            \
      const u32 scale[4] = {scales.x, scales.y, scales.z, scales.w};                                                  \
      f32 t[4];                                                                                                       \
      _Pragma("unroll") for (s32 e = 0; e < 4; ++e) t[e] =                                                            \
          name::product_real(sums[e], f32_bits(scale[e]), name::residual_real(shortcut, e));                          \
      return name::product_codes(t, nullptr, (const u8*)&shortcut);                                                   \
    }                                                                                                                 \
  };
END_OF(Reduce, reduce)
END_OF(Spatial, spatial)
END_OF(Expand, expand)
#if SHORTCUT == 2
END_OF(Project, project)
#endif

// Codes of 64 channels of a thread's two pixels: codes[i][p] are channels 16q + 4p to 16q + 4p + 3 of pixel px + 8i.
typedef u32 Codes[2][4];

template <class End, class Scales>
__device__ __forceinline__ void finish(Codes& codes, const s32 (&acc)[32], const Thread& thread, Scales& scales, s32 group, const Codes& shortcut) {
#if BIAS_ADDED
  FromShared biases(thread.base + OFF_BIASES, thread, group);
#endif
#pragma unroll
  for (s32 p = 0; p < 4; ++p) {
    const uint4 scale = scales.take(p);
#if BIAS_ADDED
    const uint4 bias = biases.take(p);
#else
    const uint4 bias = make_uint4(0, 0, 0, 0);
#endif
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
#if !BIAS_ADDED
  const u32 first = thread.q == 0 ? 0xFFFFFF01u : ~0u;
  const u64 digits = operand(thread.memory + W_BIAS * TILE_BYTES);
  product64_u8(acc, first, first, ~0u, ~0u, digits + group / 2 * (TILE_BYTES >> 4) + group % 2 * 2, 0);
#endif
  return !BIAS_ADDED;
}

template <bool kSigned>
__device__ __forceinline__ void multiply(s32 (&acc)[32], u64 a, u64 b, s32 sum) {
  if (kSigned) {
    product64_s8(acc, a, b, sum);
  } else {
    product64_u8(acc, a, b, sum);
  }
}
// 64 bytes of k from registers.
template <bool kSigned>
__device__ __forceinline__ void multiply(s32 (&acc)[32], const Codes& a, u64 b, s32 sum) {
#pragma unroll
  for (s32 k = 0; k < 2; ++k) {
    if (kSigned) {
      product64_s8(acc, a[0][2 * k], a[1][2 * k], a[0][2 * k + 1], a[1][2 * k + 1], b + 2 * k, sum | k);
    } else {
      product64_u8(acc, a[0][2 * k], a[1][2 * k], a[0][2 * k + 1], a[1][2 * k + 1], b + 2 * k, sum | k);
    }
  }
}

// GROUPS times 64 channels, each group's products under the end of the one before it: begin(acc, g) asks for products, end(acc, g) ends.
template <class Begin, class End>
__device__ __forceinline__ void for_groups(const Begin& begin, const End& end) {
  s32 acc[2][32];
  products_begin();
  begin(acc[0], 0);
  products_end();
  if (GROUPS > 1) {
    begin(acc[1], 1);
    products_end();
  }
#pragma unroll
  for (s32 g = 0; g < GROUPS; ++g) {
    s32(&own)[32] = acc[g % 2];
    end(own, g);
    if (g + 2 >= GROUPS) continue;
    hold(own);
    products_begin();
    begin(own, g + 2);
    products_end();
  }
}
// In end(): the products of group g are there.
__device__ __forceinline__ void wait_for_group(s32 (&acc)[32], s32 g) {
  if (g + 1 < GROUPS) {
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
    const s32 row = thread.px + 8 * i < WI ? thread.px + 8 * i : thread.px;
    const uint4 v = *(const uint4*)(chunk + row * 64 + ((thread.q ^ (row >> 1 & 3)) << 4));
    to[i][0] = v.x, to[i][1] = v.y, to[i][2] = v.z, to[i][3] = v.w;
  }
}

// What is added to a row of y.
__device__ __forceinline__ void make_shortcut(Codes (&shortcut)[GROUPS], const u8* x, const Thread& thread) {
#if SHORTCUT == 1
#pragma unroll
  for (s32 g = 0; g < GROUPS; ++g) load_pixels(shortcut[g], x + g * CHUNK_BYTES, thread);
#elif SHORTCUT == 2
  Codes pixels[CHUNKS];
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c) load_pixels(pixels[c], x + c * CHUNK_BYTES, thread);
  const u64 weights = operand(thread.memory + W_PROJECT * TILE_BYTES);
  const Codes none = {};
  for_groups(
      [&](s32(&acc)[32], s32 g) {
        s32 sum = begin_sum(acc, thread, 2 + GROUPS + g);
#pragma unroll
        for (s32 c = 0; c < CHUNKS; ++c, sum = 1) multiply<X_S8>(acc, pixels[c], weights + (g * CHUNKS + c) * (TILE_BYTES >> 4), sum);
      },
      [&](s32(&acc)[32], s32 g) {
        FromShared scales(thread.base + OFF_SCALES, thread, 2 + GROUPS + g);
        wait_for_group(acc, g);
        finish<Project>(shortcut[g], acc, thread, scales, 2 + GROUPS + g, none);
      });
#endif
}

// A row of 64 channels of x's chunks at address `x`.
template <class Scales>
__device__ __forceinline__ void reduce_row(Codes& codes, u32 x, const Thread& thread, Scales& scales) {
  s32 acc[32];
  const u64 a = operand(x), b = operand(thread.memory);
  products_begin();
  s32 sum = begin_sum(acc, thread, 0);
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c)
#pragma unroll
    for (s32 k = 0; k < 2; ++k, sum = 1) multiply<X_S8>(acc, a + (c * CHUNK_BYTES >> 4) + 2 * k, b + c * (TILE_BYTES >> 4) + 2 * k, sum);
  products_end();
  products_wait<0>();
  hold(acc);
  finish<Reduce>(codes, acc, thread, scales, 0, Codes{});
}

// The products of a row with its neighbours in the ring, of which the one below lies in slot `below`.
__device__ __forceinline__ void multiply_window(s32 (&acc)[32], u32 ring, s32 below, const Thread& thread) {
  const s32 above = below == 2 ? 0 : below + 1, own = below == 0 ? 2 : below - 1;
  const u64 rows[3] = {operand(ring + above * SLOT), operand(ring + own * SLOT), operand(ring + below * SLOT)};
  const u64 b = operand(thread.memory + W_SPATIAL * TILE_BYTES);
  products_begin();
  s32 sum = begin_sum(acc, thread, 1);
#pragma unroll
  for (s32 tap = 0; tap < 9; ++tap)
#pragma unroll
    for (s32 k = 0; k < 2; ++k, sum = 1) multiply<REDUCED_S8>(acc, rows[tap / 3] + tap % 3 * 4 + 2 * k, b + tap * (TILE_BYTES >> 4) + 2 * k, sum);
  products_end();
  products_wait<0>();
  hold(acc);
}

__device__ __forceinline__ void store_pixel(u8* to, const u32 (&codes)[4], s32 channel) {
#pragma unroll
  for (s32 v = 0; v < 16; v += OUT_VEC)
    if (COUT % 64 == 0 || channel + v < COUT) expand::store_codes<OUT_VEC>(to + channel + v, (const u8*)codes + v);
}

// A row of y at `to` from a row of spatial codes.
__device__ __forceinline__ void expand_row(u8* to, const Codes& row, const Codes (&shortcut)[GROUPS], const Thread& thread) {
  const u64 weights = operand(thread.memory + W_EXPAND * TILE_BYTES);
  for_groups(
      [&](s32(&acc)[32], s32 g) {
        const s32 sum = begin_sum(acc, thread, 2 + g);
        multiply<SPATIAL_S8>(acc, row, weights + g * (TILE_BYTES >> 4), sum);
      },
      [&](s32(&acc)[32], s32 g) {
        FromShared scales(thread.base + OFF_SCALES, thread, 2 + g);
        wait_for_group(acc, g);
        Codes codes;
        finish<Expand>(codes, acc, thread, scales, 2 + g, shortcut[g]);
#pragma unroll
        for (s32 i = 0; i < 2; ++i)
          if (thread.px + 8 * i < WI) store_pixel(to + (s64)(thread.px + 8 * i) * Y_PIXEL, codes[i], g * 64 + thread.q * 16);
      });
}

// The rows of y of a warpgroup, and those of x that they need. One row of zero points stands before each image and one behind the last:
// row g of all images is row v = g + g / HI + 1 of these.
struct Walk {
  s32 steps, v_first;   // from the row before the first to the one behind the last
  s32 x_first, x_last;  // none where there are no steps

  __device__ __forceinline__ explicit Walk(s32 walk) {
    const s32 walks = gridDim.x * NWG;
    const s32 first = (s32)((s64)walk * ROWS / walks), last = (s32)((s64)(walk + 1) * ROWS / walks) - 1;
    const s32 v_last = last + last / HI + 2;
    v_first = first + first / HI;
    steps = first <= last ? v_last - v_first + 1 : 0;
    x_first = v_first % (HI + 1) != 0 ? first - 1 : first;
    x_last = v_last % (HI + 1) != 0 ? last + 1 : last;
  }
};

// Asks for a row of x.
__device__ __forceinline__ void load_row(const BottleneckParams& p, s32 row, u32 to, u32 full) {
  barrier_expect(full, CHUNKS * WI * 64);
#pragma unroll
  for (s32 c = 0; c < CHUNKS; ++c) load_box4(to + c * CHUNK_BYTES, &p.x, full, c * 64, 0, row % HI, row / HI);
}

// Barriers, weights, what ends need, and the border of the rings: all that depends on no predecessor.
__device__ __forceinline__ void prepare_block(const BottleneckParams& p, u8* base, u32 memory) {
  const s32 in_group = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    const u32 weights = memory + OFF_BARRIERS;
    barrier_init(weights, 1);
#pragma unroll 1
    for (s32 i = 0; i < NWG * (STAGES + 1); ++i) barrier_init(weights + 8 + 8 * i, i % (STAGES + 1) < STAGES ? 1 : 4);
    barriers_are_ready();
    barrier_expect(weights, TILES * TILE_BYTES);
#pragma unroll 1
    for (s32 tile = 0; tile < TILES; ++tile) load_box2(memory + tile * TILE_BYTES, &p.weights, weights, 0, tile * 64);
  }
  for (s32 i = threadIdx.x; i < CHANNELS_OF_ENDS; i += 128 * NWG) {
    ((f32*)(base + OFF_SCALES))[i] = p.scales[i];
#if BIAS_ADDED
    ((s32*)(base + OFF_BIASES))[i] = p.biases[i];
#endif
  }
  if (in_group >= 24) return;
  u8* pixel = base + OFF_RING + threadIdx.x / 128 * RING_BYTES + in_group / 8 * SLOT + in_group / 4 % 2 * (WI + 1) * 64;
  *(uint4*)(pixel + in_group % 4 * 16) = make_uint4(BORDER, BORDER, BORDER, BORDER);
}

// A row of reduced codes into a slot of the ring.
__device__ __forceinline__ void store_reduced(u8* base, s32 slot, const Codes& codes, const Thread& thread) {
#pragma unroll
  for (s32 i = 0; i < 2; ++i) {
    const s32 at = slot + (thread.px + 8 * i + 1) * 64;
    if (thread.px + 8 * i < WI)
      *(uint4*)(base + at + ((thread.q ^ (at >> 7 & 3)) << 4)) = make_uint4(codes[i][0], codes[i][1], codes[i][2], codes[i][3]);
  }
}

__device__ __forceinline__ s64 place_of_row(s32 row) {
  return Y_IMAGE == (s64)HI * Y_ROW ? (s64)row * Y_ROW : (s64)(row / HI) * Y_IMAGE + (s64)(row % HI) * Y_ROW;
}

extern "C" __global__ void __launch_bounds__(128 * NWG, 1) octet_kernel(const __grid_constant__ BottleneckParams p) {
  const u32 memory = (shared_address(shared_memory) + 1023) & ~1023u;
  u8* base = shared_memory + (memory - shared_address(shared_memory));
  const s32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32, wg = warp / 4;
  const Thread thread = {base, memory, lane % 4, warp % 4 * 16 + lane / 4};
  const bool loads = threadIdx.x % 128 == 0;
  const u32 weights = memory + OFF_BARRIERS, full = weights + 8 + 8 * (STAGES + 1) * wg, window_read = full + 8 * STAGES;
  const s32 x = OFF_X + wg * STAGES * X_ROW, ring = OFF_RING + wg * RING_BYTES;
  prepare_block(p, base, memory);
  const Walk walk(blockIdx.x * NWG + wg);
  __syncthreads();
  let_successor_begin();
  wait_for_predecessor();
  if (walk.steps == 0) return;
  if (loads)
    for (s32 i = 0; i < STAGES && walk.x_first + i <= walk.x_last; ++i) load_row(p, walk.x_first + i, memory + x + i * X_ROW, full + 8 * i);
  barrier_wait(weights, 0);
  Kept reduce_scales(base + OFF_SCALES, thread, 0), spatial_scales(base + OFF_SCALES, thread, 1);
  s32 in_image = walk.v_first % (HI + 1), slot = walk.v_first % 3;  // in_image 0: a row of zero points
  s32 reduced = 0, row = walk.x_first - 1;                          // rows of x so far, the last of them
  u32 phase = 0;
  bool has_row = false, read_before = false;  // the step before this one reduced `row`; it read a window
  for (s32 it = 0; it < walk.steps; ++it) {
    const bool has_y = has_row && it > 1;
    const s32 done = (reduced + STAGES - 1) % STAGES;  // the stage of `row`
    Codes shortcut[GROUPS];
    if (has_y) make_shortcut(shortcut, base + x + done * X_ROW, thread);
    Codes codes = {{BORDER, BORDER, BORDER, BORDER}, {BORDER, BORDER, BORDER, BORDER}};
    if (in_image != 0) {
      const s32 stage = reduced % STAGES;
      barrier_wait(full + 8 * stage, reduced / STAGES & 1);
      reduce_row(codes, memory + x + stage * X_ROW, thread, reduce_scales);
      ++reduced;
    }
    if (read_before) {
      barrier_wait(window_read, phase);  // by every warp: the slot is free
      phase ^= 1;
    }
    store_reduced(base, ring + slot * SLOT, codes, thread);
    publish_shared();
    threads_meet<128>(1 + wg);
    if (loads && has_row && row + STAGES <= walk.x_last) load_row(p, row + STAGES, memory + x + done * X_ROW, full + 8 * done);
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
    in_image = in_image == HI ? 0 : in_image + 1;
    slot = slot == 2 ? 0 : slot + 1;
  }
}
