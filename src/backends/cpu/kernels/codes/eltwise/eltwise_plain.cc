// SPDX-License-Identifier: Apache-2.0
// The portable elementwise kernels.
#include "backends/cpu/kernels/codes/eltwise/eltwise_args.h"
#include "backends/cpu/kernels/codes/scalar_epilogue.h"

namespace octet {
namespace {

template <class F>
void for_each(const BinaryRun& run, const F& value) {
  const BinaryArgs& args = *run.args;
  for (s64 i = 0; i < run.count; ++i) {
    const s32 a = run.a[run.a_stands ? 0 : i] - args.zero_a;
    const s32 b = run.b[run.b_stands ? 0 : i] - args.zero_b;
    run.dst[i] = code_of(args.epilogue, value(a, b));
  }
}

}  // namespace

void add_u8_plain(const BinaryRun& run) {
  const BinaryArgs& args = *run.args;
  for_each(run, [&](s32 a, s32 b) {
    return std::fmaf(static_cast<f32>(a), args.multiplier_a,
                     static_cast<f32>(b) * args.multiplier_b);
  });
}

void min_u8_plain(const BinaryRun& run) {
  for (s64 i = 0; i < run.count; ++i) {
    const u8 a = run.a[run.a_stands ? 0 : i], b = run.b[run.b_stands ? 0 : i];
    run.dst[i] = a < b ? a : b;
  }
}

void mul_u8_plain(const BinaryRun& run) {
  const BinaryArgs& args = *run.args;
  for_each(run, [&](s32 a, s32 b) { return static_cast<f32>(a * b) * args.multiplier_a; });
}

}  // namespace octet
