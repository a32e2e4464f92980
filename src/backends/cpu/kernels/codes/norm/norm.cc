// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/norm/norm.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "backends/host/queue.h"

namespace octet {
namespace {

constexpr s64 kRegister = 64;
// A group of more channels has constants that do not stay in registers and the first cache.
constexpr s64 kWidest = 3 * kRegister;
// Fewer elements than this cost less than waking a thread.
constexpr s64 kSerial = 16384;

s64 padded(s64 channels) { return (channels + kRegister - 1) / kRegister * kRegister; }

s64 group_of(const NormSpec& spec) {
  const s64 c = spec.channels;
  if (c == 0 || spec.input.pixel_stride != c || spec.output.pixel_stride != c) return 1;
  const s64 group = kRegister / std::gcd(c, kRegister);
  return c * group <= kWidest ? group : 1;
}

}  // namespace

Norm::Norm(const NormKernel& kernel, NormSpec spec)
    : kernel_(kernel),
      spec_(std::move(spec)),
      flat_(spec_.input.row_stride == spec_.columns * spec_.input.pixel_stride &&
            spec_.output.row_stride == spec_.columns * spec_.output.pixel_stride),
      group_(group_of(spec_)),
      wide_(spec_.channels * group_),
      padded_(padded(wide_)) {}

// Sums and squares for each thread, then slopes and offsets.
s64 Norm::workspace_bytes(s64 channels, int threads) {
  const s64 widest = padded(std::max(channels, kWidest));
  return widest * 2 * (threads * s64{sizeof(s64)} + s64{sizeof(f32)});
}

// body(row, pixels) for runs of pixels at equal distances, from the start of `row` on.
template <class Body>
void Norm::for_each_run(s64 begin, s64 end, const Body& body) const noexcept {
  if (flat_) return body(begin, (end - begin) * spec_.columns);
  for (s64 row = begin; row < end; ++row) body(row, spec_.columns);
}

void Norm::add_run(const u8* src, s64 pixels, s64* sums) const noexcept {
  const s64 stride = spec_.input.pixel_stride, groups = pixels / group_;
  kernel_.sums({src, stride * group_, groups, wide_, sums, sums + padded_});
  const s64 done = groups * group_;
  kernel_.sums({src + done * stride, stride, pixels - done, spec_.channels, sums, sums + padded_});
}

void Norm::write_run(const u8* src, u8* dst, s64 pixels, const f32* lines) const noexcept {
  const s64 from = spec_.input.pixel_stride, to = spec_.output.pixel_stride;
  const s64 groups = pixels / group_, done = groups * group_;
  kernel_.lines({src, from * group_, dst, to * group_, groups, wide_, lines, lines + padded_,
                 &spec_.epilogue});
  kernel_.lines({src + done * from, from, dst + done * to, to, pixels - done, spec_.channels, lines,
                 lines + padded_, &spec_.epilogue});
}

// `sums`: of each thread. `lines`: slopes, then offsets, repeated for each pixel of a group.
void Norm::find_lines(const s64* sums, f32* lines) const noexcept {
  std::fill_n(lines, 2 * padded_, 0.0f);
  const f32* scale = reinterpret_cast<const f32*>(spec_.scale.data());
  const f32* bias = reinterpret_cast<const f32*>(spec_.bias.data());
  for (s64 c = 0; c < spec_.channels; ++c) {
    CodeMoments moments{.count = spec_.rows * spec_.columns};
    for (int thread = 0; thread < spec_.threads; ++thread) {
      const s64* own = sums + thread * 2 * padded_;
      for (s64 w = c; w < wide_; w += spec_.channels) {
        moments.sum += own[w];
        moments.squares += own[padded_ + w];
      }
    }
    const CodeLine line = code_line(spec_.norm, moments, scale[c], bias[c]);
    for (s64 w = c; w < wide_; w += spec_.channels) {
      lines[w] = line.slope;
      lines[padded_ + w] = line.offset;
    }
  }
}

void Norm::run(const u8* x, u8* y, const StepArgs& step) const noexcept {
  const Placement &in = spec_.input, &out = spec_.output;
  const s64 elements = spec_.rows * spec_.columns * spec_.channels;
  if (elements == 0) return;
  auto* sums = reinterpret_cast<s64*>(step.workspace);
  auto* lines = reinterpret_cast<f32*>(sums + spec_.threads * 2 * padded_);
  const auto in_rows = [&](const auto& body) {
    if (elements < kSerial) return body(s64{0}, spec_.rows, 0);
    pool_of(step).parallel_for(spec_.rows, body);
  };
  for (s64 image = 0; image < spec_.batch; ++image) {
    const u8* src = x + image * in.image_stride;
    u8* dst = y + image * out.image_stride;
    std::fill_n(sums, spec_.threads * 2 * padded_, s64{0});
    in_rows([&](s64 begin, s64 end, int thread) {
      for_each_run(begin, end, [&](s64 row, s64 pixels) {
        add_run(src + row * in.row_stride, pixels, sums + thread * 2 * padded_);
      });
    });
    find_lines(sums, lines);
    in_rows([&](s64 begin, s64 end, int) {
      for_each_run(begin, end, [&](s64 row, s64 pixels) {
        write_run(src + row * in.row_stride, dst + row * out.row_stride, pixels, lines);
      });
    });
  }
}

}  // namespace octet
