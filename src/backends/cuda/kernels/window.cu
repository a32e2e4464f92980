// SPDX-License-Identifier: Apache-2.0
// Output pixels and the inputs that their windows meet, of one to three spatial axes.
// Constants: IN_..., OUT_..., KERNEL_..., STRIDE_..., DIL_..., PAD_... of D, H and W; TRANSPOSED: as ConvTranspose has it; X_N, X_D, X_H,
// X_W, and the same of other operands: strides in elements.
#define TAPS (KERNEL_D * KERNEL_H * KERNEL_W)

struct Pixel {
  s32 n, out_d, out_h, out_w;
  s32 d, h, w;  // of the first tap in x; TRANSPOSED: times the stride, and of the last
};

// Offset of the pixel in an operand: OFFSET_OF(pixel, Y).
#define OFFSET_OF(pixel, P) \
  ((s64)(pixel).n * P##_N + (s64)(pixel).out_d * P##_D + (s64)(pixel).out_h * P##_H + (s64)(pixel).out_w * P##_W)

__device__ __forceinline__ Pixel pixel_of(s32 m) {
  Pixel pixel;
  pixel.out_w = m % OUT_W, pixel.out_h = m / OUT_W % OUT_H, pixel.out_d = m / (OUT_W * OUT_H) % OUT_D;
  pixel.n = m / (OUT_W * OUT_H * OUT_D);
#if TRANSPOSED
  pixel.d = pixel.out_d + PAD_D, pixel.h = pixel.out_h + PAD_H, pixel.w = pixel.out_w + PAD_W;
#else
  pixel.d = pixel.out_d * STRIDE_D - PAD_D, pixel.h = pixel.out_h * STRIDE_H - PAD_H, pixel.w = pixel.out_w * STRIDE_W - PAD_W;
#endif
  return pixel;
}

__device__ __forceinline__ bool tap_inside(s32& at, s32 tap, s32 stride, s32 dilation, s32 size) {
#if TRANSPOSED
  at -= tap * dilation;
  const bool meets = at >= 0 && at % stride == 0;
  at /= stride;
  return meets && at < size;
#else
  at += tap * dilation;
  return (u32)at < (u32)size;
#endif
}

// Whether the tap meets the image, and the offset of the place in x.
__device__ __forceinline__ bool tap_place(const Pixel& pixel, s32 tap, s64& place) {
  s32 d = pixel.d, h = pixel.h, w = pixel.w;
  bool inside = tap_inside(d, tap / (KERNEL_H * KERNEL_W), STRIDE_D, DIL_D, IN_D);
  inside = tap_inside(h, tap / KERNEL_W % KERNEL_H, STRIDE_H, DIL_H, IN_H) && inside;
  inside = tap_inside(w, tap % KERNEL_W, STRIDE_W, DIL_W, IN_W) && inside;
  place = (s64)pixel.n * X_N + (s64)d * X_D + (s64)h * X_H + (s64)w * X_W;
  return inside;
}
