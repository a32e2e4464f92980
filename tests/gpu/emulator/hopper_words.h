// SPDX-License-Identifier: Apache-2.0
// In place of device/hopper.cuh's instructions where a kernel is compiled for the host (compile.cc): the same functions. Copies come when a thread
// waits at their barrier, and products, which each thread makes for itself, when it waits for them.

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
inline void barriers_are_ready() {}
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
  while (barrier_at(at).phase == phase) {
    emulated.services->come(kEmulatedLoads + at, 0);
    if (barrier_at(at).phase == phase) emulated.services->yield();
  }
  asm volatile("" ::: "memory");
}

template <int kThreads>
inline void threads_arrive(u32 number) {
  emulated.services->named(number, kThreads, false);
}
template <int kThreads>
inline void threads_meet(u32 number) {
  emulated.services->named(number, kThreads, true);
  asm volatile("" ::: "memory");
}

// Where a byte of a row of so many bytes lies: 16-byte chunks change places within eight rows.
inline u32 swizzled(u32 at, u32 row_bytes) {
  const u32 rows = row_bytes == 128 ? 7 : row_bytes == 64 ? 3 : 1;
  return at ^ (at >> 7 & rows) << 4;
}

constexpr u8 kUndefined = 0xA5;

// What a thread wrote and did not publish, or wrote since, a product may find or not.
inline u8 published(u32 at) {
  const u8 written = emulated.shared[at];
  return written == emulated.published[at] ? written : kUndefined;
}
// Of all threads: those that did not ask for it are not told apart.
inline void publish_shared() { memcpy(emulated.published, emulated.shared, emulated.shared_bytes); }

// Channels from c on of a pixel, as many as the map's boxes have; what the tensor has not is zero.
inline void copy_row(u32 to, const EmulatedTensorMap& map, const u8* pixel, s32 c) {
  for (s32 i = 0; i < (s32)map.box[0]; ++i) {
    const u32 at = swizzled(to + i, map.box[0]);
    const u8 code = pixel != nullptr && c + i < (s32)map.sizes[0] ? pixel[c + i] : 0;
    emulated.shared[at] = emulated.published[at] = code;
  }
}
inline void copied(u32 at, u32 bytes) {
  EmulatedBarrier& barrier = barrier_at(at);
  barrier.bytes -= (s32)bytes;
  end_phase(barrier);
}
inline const u8* pixel_of_map(const EmulatedTensorMap& map, s32 w, s32 h, s32 n) {
  if ((u32)w >= map.sizes[1] || (u32)h >= map.sizes[2] || (u32)n >= map.sizes[3]) return nullptr;
  return map.base + (s64)n * map.strides[2] + (s64)h * map.strides[1] + (s64)w * map.strides[0];
}

// A copy that was asked for.
struct EmulatedLoad {
  u32 to, barrier;
  const EmulatedTensorMap* map;
  s32 c, w, h, n, dw, dh;
};
inline void load_later(EmulatedLater work, const EmulatedLoad& load, u32 rows) {
  const u32 row_bytes = load.map->box[0];
  if (load.to % (8 * row_bytes) != 0) emulated.services->trap("a box begins within its swizzle");
  memset(emulated.shared + load.to, kUndefined, rows * row_bytes);
  memset(emulated.published + load.to, kUndefined, rows * row_bytes);
  emulated.services->later(kEmulatedLoads + load.barrier, work, &load, sizeof load);
  emulated.services->end_group(kEmulatedLoads + load.barrier);
}

inline void box_comes(const void* what) {
  const EmulatedLoad& load = *(const EmulatedLoad*)what;
  const EmulatedTensorMap& map = *load.map;
  u32 row = 0;
  for (u32 y = 0; y < map.box[2]; ++y)
    for (u32 x = 0; x < map.box[1]; ++x, ++row)
      copy_row(load.to + row * map.box[0], map,
               pixel_of_map(map, load.w + (s32)x, load.h + (s32)y, load.n), load.c);
  copied(load.barrier, row * map.box[0]);
}
inline void load_box4(u32 to, const TensorMap* given, u32 barrier, s32 c, s32 w, s32 h, s32 n) {
  const EmulatedTensorMap& map = *(const EmulatedTensorMap*)given;
  load_later(box_comes, {to, barrier, &map, c, w, h, n, 0, 0}, map.box[1] * map.box[2]);
}
inline void load_box2(u32 to, const TensorMap* map, u32 barrier, s32 c, s32 row) {
  load_box4(to, map, barrier, c, row, 0, 0);
}

// Windows one after another, each at its tap (dw, dh): behind the last of a row comes the first of the next.
inline void windows_come(const void* what) {
  const EmulatedLoad& load = *(const EmulatedLoad*)what;
  const EmulatedTensorMap& map = *load.map;
  s32 w = load.w, h = load.h, n = load.n;
  const s32 last_w = (s32)map.sizes[1] - 1 + map.upper[0];
  const s32 last_h = (s32)map.sizes[2] - 1 + map.upper[1];
  for (u32 row = 0; row < map.pixels; ++row) {
    copy_row(load.to + row * map.box[0], map, pixel_of_map(map, w + load.dw, h + load.dh, n),
             load.c);
    w += (s32)map.steps[0];
    if (w <= last_w) continue;
    w = map.lower[0], h += (s32)map.steps[1];
    if (h <= last_h) continue;
    h = map.lower[1], n += 1;
  }
  copied(load.barrier, map.pixels * map.box[0]);
}
inline void load_im2col(u32 to, const TensorMap* given, u32 barrier, s32 c, s32 w, s32 h, s32 n,
                        u16 dw, u16 dh) {
  const EmulatedTensorMap& map = *(const EmulatedTensorMap*)given;
  load_later(windows_come, {to, barrier, &map, c, w, h, n, dw, dh}, map.pixels);
}

// In units of 16 bytes, so that what kernels add to an operand means the same; above them the bytes of a row.
template <s32 kRowBytes>
inline u64 operand(u32 address) {
  return address >> 4 | (u64)kRowBytes << 32;
}
inline u32 row_bytes_of(u64 operand) { return (u32)(operand >> 32); }
// Of a byte of its rows.
inline u32 place_of(u64 operand, u32 row, u32 byte) {
  const u32 row_bytes = row_bytes_of(operand);
  return swizzled((u32)operand * 16 + row * row_bytes + byte, row_bytes);
}

// A warp's lanes go on together: the first of them says for all that a stage is free.
inline void products_begin() { __syncwarp(); }
inline void products_end() {
  emulated.services->end_group(kEmulatedProducts);
  __syncwarp();
}
template <int kLeft>
inline void products_wait() {
  emulated.services->come(kEmulatedProducts, kLeft);
  __syncwarp();
}

// This thread's part of d (rows lane / 4 and 8 further of its warp's 16, columns 2 (lane % 4) and the next of each eight) from two rows
// of codes.
template <s32 kSums>
inline void product_of_rows(s32* d, const s32 (&codes)[2][32], u64 b, s32 sum) {
  const u32 lane = threadIdx.x % 32;
  for (u32 half = 0; half < 2; ++half) {
    for (u32 i = 0; i < kSums / 2; ++i) {
      const u32 column = i / 2 * 8 + 2 * (lane % 4) + i % 2;
      s32& own = d[i / 2 * 4 + 2 * half + i % 2];
      if (sum == 0) own = 0;
      for (u32 k = 0; k < 32; ++k)
        own += codes[half][k] * (s32)(s8)published(place_of(b, column, k));
    }
  }
}
inline s32 code_of_row(u8 code, bool is_signed) { return is_signed ? (s32)(s8)code : (s32)code; }

template <bool kSigned, s32 kSums>
inline void product(s32 (&d)[kSums], u64 a, u64 b, s32 sum) {
  struct Operands {
    s32* d;
    u64 a, b;
    s32 sum;
  };
  const auto work = [](const void* what) {
    const Operands& given = *(const Operands*)what;
    const u32 row = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    s32 codes[2][32];
    for (u32 i = 0; i < 64; ++i)
      codes[i / 32][i % 32] =
          code_of_row(published(place_of(given.a, row + i / 32 * 8, i % 32)), kSigned);
    product_of_rows<kSums>(given.d, codes, given.b, given.sum);
  };
  const Operands operands = {d, a, b, sum};
  emulated.services->later(kEmulatedProducts, work, &operands, sizeof operands);
}

// The same of 16-bit floats.
inline u16 published_half(u64 operand, u32 row, u32 k) {
  return (u16)(published(place_of(operand, row, 2 * k)) |
               published(place_of(operand, row, 2 * k + 1)) << 8);
}
// As product_of_rows().
template <bool kF16, s32 kSums>
inline void product_of_half_rows(f32* d, const u16 (&left)[2][16], u64 b, s32 sum) {
  const u32 lane = threadIdx.x % 32;
  for (u32 i = 0; i < kSums / 2; ++i) {
    u16 right[16];
    for (u32 k = 0; k < 16; ++k)
      right[k] = published_half(b, i / 2 * 8 + 2 * (lane % 4) + i % 2, k);
    for (u32 half = 0; half < 2; ++half) {
      f32& own = d[i / 2 * 4 + 2 * half + i % 2];
      own = emulated.services->sum_of_16(kF16, sum == 0 ? 0.0f : own, left[half], right);
    }
  }
}
template <bool kF16, s32 kSums>
inline void product(f32 (&d)[kSums], u64 a, u64 b, s32 sum) {
  struct Operands {
    f32* d;
    u64 a, b;
    s32 sum;
  };
  const auto work = [](const void* what) {
    const Operands& given = *(const Operands*)what;
    const u32 row = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    u16 left[2][16];
    for (u32 i = 0; i < 32; ++i)
      left[i / 16][i % 16] = published_half(given.a, row + i / 16 * 8, i % 16);
    product_of_half_rows<kF16, kSums>(given.d, left, given.b, given.sum);
  };
  const Operands operands = {d, a, b, sum};
  emulated.services->later(kEmulatedProducts, work, &operands, sizeof operands);
}

// The four lanes of a row have its codes.
template <bool kSigned, s32 kSums>
inline void product(s32 (&d)[kSums], const u32 (&a)[4], u64 b, s32 sum) {
  struct Operands {
    s32* d;
    s32 codes[2][32];
    u64 b;
    s32 sum;
  };
  Operands operands = {d, {}, b, sum};
  for (u32 i = 0; i < 64; ++i) {
    const u32 k = i % 32, word = __shfl_sync(~0u, a[i / 32 + k / 16 * 2], (int)(k / 4 % 4), 4);
    operands.codes[i / 32][k] = code_of_row((u8)(word >> (k % 4 * 8)), kSigned);
  }
  const auto work = [](const void* what) {
    const Operands& given = *(const Operands*)what;
    product_of_rows<kSums>(given.d, given.codes, given.b, given.sum);
  };
  emulated.services->later(kEmulatedProducts, work, &operands, sizeof operands);
}

template <bool kF16, s32 kSums>
inline void product(f32 (&d)[kSums], const u32 (&a)[4], u64 b, s32 sum) {
  struct Operands {
    f32* d;
    u16 rows[2][16];
    u64 b;
    s32 sum;
  };
  Operands operands = {d, {}, b, sum};
  for (u32 i = 0; i < 32; ++i) {
    const u32 k = i % 16, word = __shfl_sync(~0u, a[i / 16 + k / 8 * 2], (int)(k % 8 / 2), 4);
    operands.rows[i / 16][k] = (u16)(word >> (k % 2 * 16));
  }
  const auto work = [](const void* what) {
    const Operands& given = *(const Operands*)what;
    product_of_half_rows<kF16, kSums>(given.d, given.rows, given.b, given.sum);
  };
  emulated.services->later(kEmulatedProducts, work, &operands, sizeof operands);
}

template <class Sum, int kSums>
inline void hold(Sum (&)[kSums]) {}
