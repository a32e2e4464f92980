// SPDX-License-Identifier: Apache-2.0
// In place of kernels/hopper.cu where a kernel is compiled for the host (compile.cc): the same functions with the same constants. Copies come at
// once, and products are made by each thread for itself, so a barrier's phase is all that anybody waits for.

inline u32 shared_address(const void* p) { return (u32)((const u8*)p - emulated.shared); }

// Of 8 bytes, as a real one.
struct EmulatedBarrier {
  s32 bytes;  // that were announced and have not come
  u32 expected : 12, pending : 12, phase : 1;
};
inline EmulatedBarrier& barrier_at(u32 at) { return *(EmulatedBarrier*)(emulated.shared + at); }

inline void end_phase(EmulatedBarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.phase ^= 1;
  barrier.pending = barrier.expected;
  emulated.services->progress();
}
inline void barrier_init(u32 at, u32 arrivals) {
  EMULATED_WAITS();
  barrier_at(at) = {0, arrivals, arrivals, 0};
}
inline void barrier_expect(u32 at, u32 bytes) {
  EmulatedBarrier& barrier = barrier_at(at);
  if (barrier.pending == 0)
    emulated.services->trap("more threads arrive at a barrier than it expects");
  barrier.bytes += (s32)bytes;
  barrier.pending -= 1;
  end_phase(barrier);
}
inline void barrier_arrive(u32 at) { barrier_expect(at, 0); }
inline void barrier_wait(u32 at, u32 phase) {
  while (barrier_at(at).phase == phase) emulated.services->yield();
  asm volatile("" ::: "memory");
}

// Where a byte of a row of BKI bytes lies: 16-byte chunks change places within eight rows.
inline u8& swizzled(u32 at) {
  const u32 rows = BKI == 128 ? 7 : BKI == 64 ? 3 : 1;
  return emulated.shared[at ^ (at >> 7 & rows) << 4];
}

// Channels c to c + BKI of a pixel; what the tensor has not is zero.
inline void copy_row(u32 to, const EmulatedTensorMap& map, const u8* pixel, s32 c) {
  for (s32 i = 0; i < BKI; ++i)
    swizzled(to + i) = pixel != nullptr && c + i < (s32)map.sizes[0] ? pixel[c + i] : 0;
}
inline void copied(u32 at, u32 rows) {
  EmulatedBarrier& barrier = barrier_at(at);
  barrier.bytes -= (s32)(rows * BKI);
  end_phase(barrier);
}
inline const u8* pixel_of_map(const EmulatedTensorMap& map, s32 w, s32 h, s32 n) {
  if ((u32)w >= map.sizes[1] || (u32)h >= map.sizes[2] || (u32)n >= map.sizes[3]) return nullptr;
  return map.base + (s64)n * map.strides[2] + (s64)h * map.strides[1] + (s64)w * map.strides[0];
}

inline void load_box4(u32 to, const TensorMap* given, u32 barrier, s32 c, s32 w, s32 h, s32 n) {
  const EmulatedTensorMap& map = *(const EmulatedTensorMap*)given;
  if (map.box[0] != BKI || to % (8 * BKI) != 0) emulated.services->trap("a box of other rows");
  u32 row = 0;
  for (u32 y = 0; y < map.box[2]; ++y)
    for (u32 x = 0; x < map.box[1]; ++x, ++row)
      copy_row(to + row * BKI, map, pixel_of_map(map, w + (s32)x, h + (s32)y, n), c);
  copied(barrier, row);
}
inline void load_box2(u32 to, const TensorMap* map, u32 barrier, s32 c, s32 row) {
  load_box4(to, map, barrier, c, row, 0, 0);
}

// Windows one after another, each at its tap (dw, dh): behind the last of a row comes the first of the next.
inline void load_im2col(u32 to, const TensorMap* given, u32 barrier, s32 c, s32 w, s32 h, s32 n,
                        u16 dw, u16 dh) {
  const EmulatedTensorMap& map = *(const EmulatedTensorMap*)given;
  const s32 last_w = (s32)map.sizes[1] - 1 + map.upper[0];
  const s32 last_h = (s32)map.sizes[2] - 1 + map.upper[1];
  for (u32 row = 0; row < map.pixels; ++row) {
    copy_row(to + row * BKI, map, pixel_of_map(map, w + dw, h + dh, n), c);
    w += (s32)map.steps[0];
    if (w <= last_w) continue;
    w = map.lower[0], h += (s32)map.steps[1];
    if (h <= last_h) continue;
    h = map.lower[1], n += 1;
  }
  copied(barrier, map.pixels);
}

// In units of 16 bytes, so that what kernels add to an operand means the same.
inline u64 operand(u32 address) { return address >> 4; }

// A warp's lanes go on together: the first of them says for all that a stage is free.
inline void products_begin() { __syncwarp(); }
inline void products_end() { __syncwarp(); }
template <int kLeft>
inline void products_wait() {
  __syncwarp();
}

// This thread's part of d: rows lane / 4 and 8 further of its warp's 16, columns 2 (lane % 4) and the next of each eight.
inline void product(s32 (&d)[BN / 2], u64 a, u64 b, s32 sum) {
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  for (u32 half = 0; half < 2; ++half) {
    const u32 row = 16 * warp + lane / 4 + 8 * half;
    s32 codes[32];
    for (u32 k = 0; k < 32; ++k) {
      const u8 code = swizzled((u32)a * 16 + row * BKI + k);
      codes[k] = X_S8 ? (s32)(s8)code : (s32)code;
    }
    for (u32 i = 0; i < BN / 4; ++i) {
      const u32 column = i / 2 * 8 + 2 * (lane % 4) + i % 2, at = (u32)b * 16 + column * BKI;
      s32& own = d[i / 2 * 4 + 2 * half + i % 2];
      if (sum == 0) own = 0;
      for (u32 k = 0; k < 32; ++k) own += codes[k] * (s32)(s8)swizzled(at + k);
    }
  }
}
