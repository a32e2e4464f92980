// SPDX-License-Identifier: Apache-2.0
// Hopper's own instructions (sm_90a): barriers in shared memory, copies by the tensor memory accelerator, products of warpgroups.
#pragma once

#include "backends/cuda/device/tensor_map.h"

namespace octet::cuda {

// Begin of Hopper's instructions.
__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// What the thread that initialized them does before anybody uses them.
__device__ __forceinline__ void barriers_are_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ bool barrier_try(u32 barrier, u32 phase) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(phase)
      : "memory");
  return done;
}
// A copy that never comes ends the kernel with an error after some seconds, not the machine's patience.
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 phase) {
  if (barrier_try(barrier, phase)) return;
  const s64 begin = clock64();
  while (!barrier_try(barrier, phase))
    if (clock64() - begin > 8000000000ll) asm volatile("trap;");
}

// Barriers of some threads, whole warps, by number; 0 is that of all.
template <int kThreads> __device__ __forceinline__ void threads_arrive(u32 number) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}
template <int kThreads> __device__ __forceinline__ void threads_meet(u32 number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

// Boxes of a tensor into shared memory, counted by the barrier. Coordinates: the innermost first.
__device__ __forceinline__ void load_box2(u32 to, const TensorMap* map, u32 barrier, s32 c, s32 row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(c), "r"(row)
               : "memory");
}
__device__ __forceinline__ void load_box4(u32 to, const TensorMap* map, u32 barrier, s32 c, s32 w, s32 h, s32 n) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n)
      : "memory");
}
__device__ __forceinline__ void load_im2col(u32 to, const TensorMap* map, u32 barrier, s32 c, s32 w, s32 h, s32 n, u16 dw, u16 dh) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"(dw), "h"(dh)
      : "memory");
}

// An operand in shared memory: rows of kRowBytes bytes of k, whose 16-byte chunks are swizzled within so many bytes. The next 32 bytes of k: + 2.
// The address may be that of any row.
template <s32 kRowBytes> __device__ __forceinline__ u64 operand(u32 address) {
  static_assert(kRowBytes == 32 || kRowBytes == 64 || kRowBytes == 128, "there is no other swizzle");
  return (u64)((address & 0x3FFFF) >> 4) | (u64)1 << 16 | (u64)(8 * kRowBytes >> 4) << 32 |
         (u64)(kRowBytes == 128 ? 1 : kRowBytes == 64 ? 2 : 3) << 62;
}

__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft> __device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// Registers of sums, and their numbers in the text of an instruction.
#define OCTET_D8(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), c(d[i + 7])
#define OCTET_D16(c, i) OCTET_D8(c, i), OCTET_D8(c, i + 8)
#define OCTET_D32(c, i) OCTET_D16(c, i), OCTET_D16(c, i + 16)
#define OCTET_D64(c, i) OCTET_D32(c, i), OCTET_D32(c, i + 32)
#define OCTET_D96(c, i) OCTET_D64(c, i), OCTET_D32(c, i + 64)
#define OCTET_D128(c, i) OCTET_D64(c, i), OCTET_D64(c, i + 64)
#define OCTET_N8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define OCTET_N16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define OCTET_N32 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define OCTET_N64 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define OCTET_N96 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define OCTET_N128 OCTET_N96 ", " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define OCTET_PRODUCT_TEXT(columns, types, sums, operands, predicate) \
  "{\n.reg .pred p;\nsetp.ne.b32 p, " predicate ", 0;\n"              \
  "wgmma.mma_async.sync.aligned.m64n" columns types " {" sums "}, " operands ", p"
#define OCTET_PRODUCT(columns, sums, operands, predicate, registers, ...)                                                            \
  if constexpr (kSigned) {                                                                                                           \
    asm volatile(OCTET_PRODUCT_TEXT(columns, "k32.s32.s8.s8", sums, operands, predicate) ";\n}\n" : registers : __VA_ARGS__);        \
  } else {                                                                                                                           \
    asm volatile(OCTET_PRODUCT_TEXT(columns, "k32.s32.u8.s8", sums, operands, predicate) ";\n}\n" : registers : __VA_ARGS__);        \
  }
// Of floats neither operand is negated or turned; what lies in registers could not be turned.
#define OCTET_PRODUCT_FLOAT(columns, plain, sums, operands, predicate, registers, ...)                                                  \
  if constexpr (kF16) {                                                                                                                 \
    asm volatile(OCTET_PRODUCT_TEXT(columns, "k16.f32.f16.f16", sums, operands, predicate) plain ";\n}\n" : registers : __VA_ARGS__);   \
  } else {                                                                                                                              \
    asm volatile(OCTET_PRODUCT_TEXT(columns, "k16.f32.bf16.bf16", sums, operands, predicate) plain ";\n}\n" : registers : __VA_ARGS__); \
  }

// d (+)= 64 rows of a, codes that are signed or not, by 2 * kSums columns of b, 32 bytes of k; `sum` 0: d is not read.
template <bool kSigned, s32 kSums> __device__ __forceinline__ void product(s32 (&d)[kSums], u64 a, u64 b, s32 sum) {
  static_assert(kSums == 16 || kSums == 32 || kSums == 64 || kSums == 96 || kSums == 128, "of 32, 64, 128, 192 or 256 columns");
  if constexpr (kSums == 16) {
    OCTET_PRODUCT("32", OCTET_N16, "%16, %17", "%18", OCTET_D16("+r", 0), "l"(a), "l"(b), "r"(sum))
  } else if constexpr (kSums == 32) {
    OCTET_PRODUCT("64", OCTET_N16 ", " OCTET_N32, "%32, %33", "%34", OCTET_D32("+r", 0), "l"(a), "l"(b), "r"(sum))
  } else if constexpr (kSums == 64) {
    OCTET_PRODUCT("128", OCTET_N16 ", " OCTET_N32 ", " OCTET_N64, "%64, %65", "%66", OCTET_D64("+r", 0), "l"(a), "l"(b), "r"(sum))
  } else if constexpr (kSums == 96) {
    OCTET_PRODUCT("192", OCTET_N16 ", " OCTET_N32 ", " OCTET_N64 ", " OCTET_N96, "%96, %97", "%98", OCTET_D96("+r", 0), "l"(a), "l"(b), "r"(sum))
  } else {
    OCTET_PRODUCT("256", OCTET_N16 ", " OCTET_N32 ", " OCTET_N64 ", " OCTET_N128, "%128, %129", "%130", OCTET_D128("+r", 0), "l"(a), "l"(b), "r"(sum))
  }
}
// The same of numbers of f16, or of bf16: 16 of k, sums in f32.
template <bool kF16, s32 kSums> __device__ __forceinline__ void product(f32 (&d)[kSums], u64 a, u64 b, s32 sum) {
  static_assert(kSums == 16 || kSums == 32 || kSums == 64 || kSums == 96 || kSums == 128, "of 32, 64, 128, 192 or 256 columns");
  if constexpr (kSums == 16) {
    OCTET_PRODUCT_FLOAT("32", ", 1, 1, 0, 0", OCTET_N16, "%16, %17", "%18", OCTET_D16("+f", 0), "l"(a), "l"(b), "r"(sum))
  } else if constexpr (kSums == 32) {
    OCTET_PRODUCT_FLOAT("64", ", 1, 1, 0, 0", OCTET_N16 ", " OCTET_N32, "%32, %33", "%34", OCTET_D32("+f", 0), "l"(a), "l"(b), "r"(sum))
  } else if constexpr (kSums == 64) {
    OCTET_PRODUCT_FLOAT("128", ", 1, 1, 0, 0", OCTET_N16 ", " OCTET_N32 ", " OCTET_N64, "%64, %65", "%66", OCTET_D64("+f", 0), "l"(a), "l"(b), "r"(sum))
  } else if constexpr (kSums == 96) {
    OCTET_PRODUCT_FLOAT("192", ", 1, 1, 0, 0", OCTET_N16 ", " OCTET_N32 ", " OCTET_N64 ", " OCTET_N96, "%96, %97", "%98", OCTET_D96("+f", 0), "l"(a), "l"(b), "r"(sum))
  } else {
    OCTET_PRODUCT_FLOAT("256", ", 1, 1, 0, 0", OCTET_N16 ", " OCTET_N32 ", " OCTET_N64 ", " OCTET_N128, "%128, %129", "%130", OCTET_D128("+f", 0), "l"(a), "l"(b), "r"(sum))
  }
}
// The same with rows of `a` in registers: a[0] and a[1] are codes 4q to 4q + 3 of k (q = lane % 4) of rows lane / 4 and 8 further of the warp's 16,
// a[2] and a[3] the same 16 bytes of k further.
template <bool kSigned, s32 kSums> __device__ __forceinline__ void product(s32 (&d)[kSums], const u32 (&a)[4], u64 b, s32 sum) {
  static_assert(kSums == 8 || kSums == 16 || kSums == 32, "of 16, 32 or 64 columns");
  if constexpr (kSums == 8) {
    OCTET_PRODUCT("16", OCTET_N8, "{%8, %9, %10, %11}, %12", "%13", OCTET_D8("+r", 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum))
  } else if constexpr (kSums == 16) {
    OCTET_PRODUCT("32", OCTET_N16, "{%16, %17, %18, %19}, %20", "%21", OCTET_D16("+r", 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum))
  } else {
    OCTET_PRODUCT("64", OCTET_N16 ", " OCTET_N32, "{%32, %33, %34, %35}, %36", "%37", OCTET_D32("+r", 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum))
  }
}

// The same of 16-bit floats: a[0] and a[1] are numbers 2q and 2q + 1 of k, a[2] and a[3] those 8 of k further.
template <bool kF16, s32 kSums> __device__ __forceinline__ void product(f32 (&d)[kSums], const u32 (&a)[4], u64 b, s32 sum) {
  static_assert(kSums == 8 || kSums == 16 || kSums == 32 || kSums == 64, "of 16, 32, 64 or 128 columns");
  if constexpr (kSums == 8) {
    OCTET_PRODUCT_FLOAT("16", ", 1, 1, 0", OCTET_N8, "{%8, %9, %10, %11}, %12", "%13", OCTET_D8("+f", 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum))
  } else if constexpr (kSums == 16) {
    OCTET_PRODUCT_FLOAT("32", ", 1, 1, 0", OCTET_N16, "{%16, %17, %18, %19}, %20", "%21", OCTET_D16("+f", 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum))
  } else if constexpr (kSums == 64) {
    OCTET_PRODUCT_FLOAT("128", ", 1, 1, 0", OCTET_N16 ", " OCTET_N32 ", " OCTET_N64, "{%64, %65, %66, %67}, %68", "%69", OCTET_D64("+f", 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum))
  } else {
    OCTET_PRODUCT_FLOAT("64", ", 1, 1, 0", OCTET_N16 ", " OCTET_N32, "{%32, %33, %34, %35}, %36", "%37", OCTET_D32("+f", 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum))
  }
}

// Sums are read no sooner than here: to be said behind products_wait, and before products that write them again.
__device__ __forceinline__ void hold(s32 (&d)[32]) { asm volatile("" : OCTET_D32("+r", 0)::"memory"); }
__device__ __forceinline__ void hold(s32 (&d)[16]) { asm volatile("" : OCTET_D16("+r", 0)::"memory"); }
__device__ __forceinline__ void hold(s32 (&d)[8]) { asm volatile("" : OCTET_D8("+r", 0)::"memory"); }
__device__ __forceinline__ void hold(f32 (&d)[64]) { asm volatile("" : OCTET_D64("+f", 0)::"memory"); }
__device__ __forceinline__ void hold(f32 (&d)[32]) { asm volatile("" : OCTET_D32("+f", 0)::"memory"); }
__device__ __forceinline__ void hold(f32 (&d)[16]) { asm volatile("" : OCTET_D16("+f", 0)::"memory"); }
__device__ __forceinline__ void hold(f32 (&d)[8]) { asm volatile("" : OCTET_D8("+f", 0)::"memory"); }
// What threads wrote to shared memory is seen by products and by the tensor memory accelerator, once the threads have met.
__device__ __forceinline__ void publish_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#undef OCTET_D8
#undef OCTET_D16
#undef OCTET_D32
#undef OCTET_D64
#undef OCTET_D96
#undef OCTET_D128
#undef OCTET_N8
#undef OCTET_N16
#undef OCTET_N32
#undef OCTET_N64
#undef OCTET_N96
#undef OCTET_N128
#undef OCTET_PRODUCT_TEXT
#undef OCTET_PRODUCT
#undef OCTET_PRODUCT_FLOAT
// End of Hopper's instructions.

}  // namespace octet::cuda
