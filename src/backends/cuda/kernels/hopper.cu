// SPDX-License-Identifier: Apache-2.0
// Hopper's own instructions (sm_90a): barriers in shared memory, copies by the tensor memory accelerator, products of warpgroups.
// Constants: BN (columns of one product: 32, 64, 128 or 256), BKI (bytes of a row of shared memory, and what its 16-byte chunks are
// swizzled within: 32, 64 or 128), X_S8.
#if X_S8
#define A_TYPE "s8"
#else
#define A_TYPE "u8"
#endif

__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
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
#define N16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define N32 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define N64 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define N128 \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
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
#elif BN == 256
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n256k32.s32." A_TYPE ".s8 {" N16 ", " N32 ", " N64 ", " N128 "}, %128, %129, p;\n}\n"
               : D64(0), D64(64)
               : "l"(a), "l"(b), "r"(sum));
#endif
}
