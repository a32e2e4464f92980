// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/matmul/matmul.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/codes/matmul/tile_matmul_args.h"

namespace octet {
namespace {

s64 round_up(s64 n, s64 to) { return (n + to - 1) / to * to; }

// Rows of a matrix are pixels of a 1 x 1 convolution.
ConvGeometry as_conv(const MatMulGeometry& g) {
  ConvGeometry conv;
  conv.in_channels = g.k;
  conv.out_channels = g.n;
  conv.window.axes[2] = {.in = g.m, .out = g.m};
  return conv;
}

s32 row_sum(const u8* row, s64 k) {
  s32 sum = 0;
  for (s64 i = 0; i < k; ++i) sum += row[i];
  return sum;
}

constexpr s64 kMostDepth = 131071;

}  // namespace

const char* matmul_reject(const MatMulViews& views) {
  const MatMulGeometry& g = views.geometry;
  if (views.a_k != 1 && g.k > 1) return "the rows of a are not dense";
  if (views.y_n != 1 && g.n > 1) return "the rows of the result are not dense";
  if (g.k < kConvChunk) return "the inner dimension is below 4";
  // Where sums of more products fit s32, b is constant or there is a bias (OpTraits::wide_sums). Nothing here but a row's sum has to fit:
  // all else is added modulo 2^32.
  if (g.k > kMostDepth) return "the inner dimension is above 131071";
  return nullptr;
}

BatchedMatmul::BatchedMatmul(const ConvKernel& kernel, const MatmulSpec& spec)
    : kernel_(kernel),
      views_(spec.views),
      zero_a_(spec.zero_a),
      shifted_zero_b_(spec.zero_b - 128),
      epilogue_(spec.epilogue),
      chunks_(conv_chunks(as_conv(geometry()), {geometry().k, 0}, 0)),
      padded_n_(round_up(geometry().n, kConvLanes)),
      bias_(static_cast<size_t>(padded_n_)),
      multiplier_(bias_.size()) {
  for (size_t i = 0; i < static_cast<size_t>(geometry().n); ++i) {
    bias_[i] = spec.bias.empty() ? 0 : spec.bias[i];
    multiplier_[i] = spec.multiplier[spec.multiplier.size() == 1 ? 0 : i];
  }
  const s64 packed_k = packed_depth(kernel, static_cast<s64>(chunks_.offsets.size()));
  vectors_ = kernel.isa == Isa::vnni && kernel.weight_bytes == 1 && kernel.pack_group == 4 &&
             kernel.channels == kProductBlock * kProductColumns && geometry().k % 4 == 0 &&
             (views_.b_k == 1 || views_.b_n == 1);
  weights_bytes_ = round_up(padded_n_ * packed_k * kernel.weight_bytes, 64);
  const s64 scratch = kernel.copies ? round_up(packed_k * kernel.pixels * 2, 64) : 0;
  thread_bytes_ = weights_bytes_ + round_up(padded_n_ * 4, 64) + scratch;
}

struct BatchedMatmul::Workspace {
  std::byte* weights;
  s32* bias;
  void* scratch;
};

BatchedMatmul::Workspace BatchedMatmul::workspace_of(const Call& call, int thread) const noexcept {
  std::byte* base = call.workspace + thread * thread_bytes_;
  std::byte* bias = base + weights_bytes_;
  return {base, reinterpret_cast<s32*>(bias), bias + round_up(padded_n_ * 4, 64)};
}

namespace {

// One block of packed weights, see ConvKernel: [steps][width][group] of T. The last step may lack sources.
template <class T>
struct BlockPacker {
  const u8* b;  // first column of the block
  s64 k_stride, n_stride;
  s64 columns, width, group;
  std::span<const s64> sources;

  void pack(T* dst) const {
    for (size_t at = 0; at < sources.size(); at += static_cast<size_t>(group)) {
      for (s64 i = 0; i < group; ++i) {
        const size_t source = at + static_cast<size_t>(i);
        const s64 k = source < sources.size() ? sources[source] : -1;
        for (s64 c = 0; c < columns && k >= 0; ++c) {
          dst[c * group + i] = static_cast<T>(b[k * k_stride + c * n_stride] - 128);
        }
        for (s64 c = k >= 0 ? columns : 0; c < width; ++c) dst[c * group + i] = T{0};
      }
      dst += width * group;
    }
  }
};

}  // namespace

void BatchedMatmul::pack(const u8* b, const Workspace& workspace) const noexcept {
  if (!vectors_) return pack_by_elements(b, workspace);
  ProductPackJob job{};
  job.b = b;
  job.k_stride = views_.b_k;
  job.n_stride = views_.b_n;
  job.k = geometry().k;
  job.n = geometry().n;
  job.packed = reinterpret_cast<u8*>(workspace.weights);
  job.columns = workspace.bias;
  job.bias = bias_.data();
  job.zero_a = zero_a_;
  job.zero_b = shifted_zero_b_ + 128;
  job.plain = true;
  pack_product_vnni(job);
}

void BatchedMatmul::pack_by_elements(const u8* b, const Workspace& workspace) const noexcept {
  const s64 n = geometry().n, k = geometry().k;
  std::byte* dst = workspace.weights;
  for (s64 c = 0; c < n; c += kernel_.channels) {
    const s64 columns = std::min(kernel_.channels, n - c);
    const s64 width = round_up(columns, kConvLanes);
    const u8* block = b + c * views_.b_n;
    if (kernel_.weight_bytes == 1) {
      BlockPacker<s8>{block, views_.b_k,         views_.b_n,     columns,
                      width, kernel_.pack_group, chunks_.sources}
          .pack(reinterpret_cast<s8*>(dst));
    } else {
      BlockPacker<s16>{block, views_.b_k,         views_.b_n,     columns,
                       width, kernel_.pack_group, chunks_.sources}
          .pack(reinterpret_cast<s16*>(dst));
    }
    dst += width * packed_depth(kernel_, static_cast<s64>(chunks_.offsets.size())) *
           kernel_.weight_bytes;
  }
  std::copy(bias_.begin(), bias_.end(), workspace.bias);
  // bias - zero_a * sum(b' - z) + shift * sum(b'), with b' - z = b - zero_b
  const s32 zero_b = shifted_zero_b_ + 128, shift = kernel_.shift;
  for (s64 row = 0; row < k && (zero_a_ != 0 || shift != 0); ++row) {
    for (s64 c = 0; c < n; ++c) {
      const s32 code = b[row * views_.b_k + c * views_.b_n];
      const s32 share = zero_a_ * (code - zero_b) - shift * (code - 128);
      workspace.bias[c] =
          static_cast<s32>(static_cast<u32>(workspace.bias[c]) - static_cast<u32>(share));
    }
  }
}

void BatchedMatmul::run(const Call& call) const noexcept {
  const s64 tiles = (geometry().m + kernel_.pixels - 1) / kernel_.pixels;
  const s64 count = geometry().batches() * tiles;
  // Each call packs the matrix that its first tile meets.
  call.pool.parallel_for(
      count,
      [&](s64 begin, s64 end, int thread) {
        run_tiles(call, begin, end, workspace_of(call, thread));
      },
      count);
}

void BatchedMatmul::run_tiles(const Call& call, s64 first, s64 last,
                              const Workspace& workspace) const noexcept {
  const s64 m = geometry().m, k = geometry().k, n = geometry().n;
  const s64 tiles = (m + kernel_.pixels - 1) / kernel_.pixels;
  const s64 element = epilogue_.real ? 4 : 1;
  const u8* src[kConvMaxPixels];
  const u8* residual[kConvMaxPixels];
  u8* dst[kConvMaxPixels];
  s32 row_bias[kConvMaxPixels];
  ConvTile tile{.src = src,
                .dst = dst,
                .residual = call.residual != nullptr ? residual : nullptr,
                .pixels = 0,
                .offsets = chunks_.offsets.data(),
                .chunks = static_cast<s64>(chunks_.offsets.size()),
                .weights = workspace.weights,
                .bias = workspace.bias,
                .multiplier = multiplier_.data(),
                .first_channel = 0,
                .channels = n,
                .row_bias = row_bias,
                .scratch = workspace.scratch,
                .epilogue = &epilogue_};
  s64 packed = -1;
  for (s64 i = first; i < last; ++i) {
    const s64 batch = i / tiles, row = i % tiles * kernel_.pixels;
    if (const s64 wanted = views_.b_first(batch); wanted != packed) {
      pack(call.b + wanted, workspace);
      packed = wanted;
    }
    tile.pixels = std::min(kernel_.pixels, m - row);
    for (s64 p = 0; p < tile.pixels; ++p) {
      const s64 at = views_.y_first(batch) + (row + p) * views_.y_row;
      src[p] = call.a + views_.a_first(batch) + (row + p) * views_.a_row;
      dst[p] = call.y + at * element;
      residual[p] = call.residual + (call.residual != nullptr ? at : 0);
      const s32 sum = vectors_ ? row_sum_vnni(src[p], k) : row_sum(src[p], k);
      row_bias[p] = static_cast<s32>(0 - static_cast<u32>(shifted_zero_b_) * static_cast<u32>(sum));
    }
    kernel_.run(tile);
  }
}

}  // namespace octet
