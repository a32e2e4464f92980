// SPDX-License-Identifier: Apache-2.0
// Hopper's own instructions (sm_90a): barriers in shared memory, copies by the tensor memory accelerator, products of warpgroups.
// Constants: BN (columns of one product: 32, 64, 128, 192 or 256), BKI (bytes of a row of shared memory, and what its 16-byte chunks are
// swizzled within: 32, 64 or 128), X_S8.
// Begin of Hopper's instructions.
#if X_S8
#define A_TYPE "s8"
#else
#define A_TYPE "u8"
#endif

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

// An operand in shared memory, rows of BKI bytes of k, swizzled. The next 32 bytes of k: + 2. The address may be that of any row.
__device__ __forceinline__ u64 operand(u32 address) {
  return (u64)((address & 0x3FFFF) >> 4) | (u64)1 << 16 | (u64)(8 * BKI >> 4) << 32 | (u64)(BKI == 128 ? 1 : BKI == 64 ? 2 : 3) << 62;
}

__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft> __device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

#define D8(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]), "+r"(d[i + 7])
#define D16(i) D8(i), D8(i + 8)
#define D32(i) D16(i), D16(i + 16)
#define D64(i) D32(i), D32(i + 32)
#define N8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define N16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define N32 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define N64 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define N96 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define N128 N96 ", " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// d (+)= 64 rows of a by BN columns of b, 32 bytes of k; `sum` 0: d is not read.
__device__ __forceinline__ void product(s32 (&d)[BN / 2], u64 a, u64 b, s32 sum) {
#if BN == 32
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k32.s32." A_TYPE ".s8 {" N16 "}, %16, %17, p;\n}\n"
               : D16(0)
               : "l"(a), "l"(b), "r"(sum));
#elif BN == 64
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k32.s32." A_TYPE ".s8 {" N16 ", " N32 "}, %32, %33, p;\n}\n"
               : D32(0)
               : "l"(a), "l"(b), "r"(sum));
#elif BN == 128
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k32.s32." A_TYPE ".s8 {" N16 ", " N32 ", " N64 "}, %64, %65, p;\n}\n"
               : D64(0)
               : "l"(a), "l"(b), "r"(sum));
#elif BN == 192
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %98, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n192k32.s32." A_TYPE ".s8 {" N16 ", " N32 ", " N64 ", " N96 "}, %96, %97, p;\n}\n"
               : D64(0), D32(64)
               : "l"(a), "l"(b), "r"(sum));
#elif BN == 256
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n256k32.s32." A_TYPE ".s8 {" N16 ", " N32 ", " N64 ", " N128 "}, %128, %129, p;\n}\n"
               : D64(0), D64(64)
               : "l"(a), "l"(b), "r"(sum));
#endif
}
// 64 rows by 64 columns, 32 bytes of k, rows of either type: from shared memory, or from registers. There a0 and a1 are codes 4q to
// 4q + 3 of k (q = lane % 4) of rows lane / 4 and 8 further of the warp's 16, a2 and a3 the same 16 bytes of k further.
#define PRODUCT64(name, type)                                                                                          \
  __device__ __forceinline__ void name(s32 (&d)[32], u64 a, u64 b, s32 sum) {                                          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                                         \
                 "wgmma.mma_async.sync.aligned.m64n64k32.s32." type ".s8 {" N16 ", " N32 "}, %32, %33, p;\n}\n"        \
                 : D32(0)                                                                                              \
                 : "l"(a), "l"(b), "r"(sum));                                                                          \
  }                                                                                                                    \
  __device__ __forceinline__ void name(s32 (&d)[32], u32 a0, u32 a1, u32 a2, u32 a3, u64 b, s32 sum) {                 \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"                                                         \
                 "wgmma.mma_async.sync.aligned.m64n64k32.s32." type ".s8 {" N16 ", " N32 "}, {%32, %33, %34, %35}, %36, p;\n}\n" \
                 : D32(0)                                                                                              \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(sum));                                              \
  }
PRODUCT64(product64_u8, "u8")
PRODUCT64(product64_s8, "s8")

// BN columns (16, 32 or 64), rows of X_S8's type in registers, as above.
__device__ __forceinline__ void product(s32 (&d)[BN / 2], const u32 (&a)[4], u64 b, s32 sum) {
#if BN == 16
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n16k32.s32." A_TYPE ".s8 {" N8 "}, {%8, %9, %10, %11}, %12, p;\n}\n"
               : D8(0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum));
#elif BN == 32
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k32.s32." A_TYPE ".s8 {" N16 "}, {%16, %17, %18, %19}, %20, p;\n}\n"
               : D16(0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(sum));
#elif BN == 64 && X_S8
  product64_s8(d, a[0], a[1], a[2], a[3], b, sum);
#elif BN == 64
  product64_u8(d, a[0], a[1], a[2], a[3], b, sum);
#endif
}

// Sums are read no sooner than here: to be said behind products_wait, and before products that write them again.
__device__ __forceinline__ void hold(s32 (&d)[32]) { asm volatile("" : D32(0)::"memory"); }
__device__ __forceinline__ void hold(s32 (&d)[16]) { asm volatile("" : D16(0)::"memory"); }
__device__ __forceinline__ void hold(s32 (&d)[8]) { asm volatile("" : D8(0)::"memory"); }
// What threads wrote to shared memory is seen by products and by the tensor memory accelerator, once the threads have met.
__device__ __forceinline__ void publish_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// End of Hopper's instructions.
