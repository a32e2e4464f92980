// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/winograd.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/cpu/kernels/codes/epilogue_bounds.h"
#include "core/divide.h"

namespace octet {
namespace {

// Tiles whose patches are transformed at once: the weights are read once for each such group, the patches stay in L2.
constexpr s64 kMostTiles = 54;
constexpr s64 kMostChannels = 1024;
// Transformed weights are 3.6 times as large. Measured: 512 x 512 channels 0.85 times as fast as directly, 256 x 256 1.3.
constexpr s64 kMostWeightBytes = 4 << 20;
constexpr s64 kTileOutputs = 4;

s64 round_up(s64 n, s64 to) { return ceil_div(n, to) * to; }

s64 tiles_down(const ConvGeometry& g) { return ceil_div(g.window.h().out, 2); }
s64 tiles_across(const ConvGeometry& g) { return ceil_div(g.window.w().out, 2); }
s64 tiles_of(const ConvGeometry& g) { return g.batch * tiles_down(g) * tiles_across(g); }

s64 tiles_at_once(const ConvGeometry& g, int threads) {
  const s64 tiles = std::max<s64>(tiles_of(g), 1);
  const s64 groups = round_up(ceil_div(tiles, kMostTiles), threads);
  return round_up(ceil_div(tiles, groups), kWinogradTiles);
}

// What one thread works with.
struct Workspace {
  s16* patches;
  s32* sums;
  u8** dst;
  const u8** residual;
  u8* nowhere;  // for pixels of a tile that lie outside the image
  s64 bytes;

  // Without a base only `bytes` means something.
  Workspace(std::byte* base, s64 tiles, s64 channels) : bytes(0) {
    const auto take = [&](s64 count) {
      std::byte* here = base == nullptr ? nullptr : base + bytes;
      bytes += round_up(count, 64);
      return here;
    };
    patches = reinterpret_cast<s16*>(take(kWinogradPatch * tiles * channels * 2));
    sums = reinterpret_cast<s32*>(take(kWinogradPatch * tiles * kConvLanes * 4));
    dst = reinterpret_cast<u8**>(take(tiles * kTileOutputs * 8));
    residual = reinterpret_cast<const u8**>(take(tiles * kTileOutputs * 8));
    nowhere = reinterpret_cast<u8*>(take(64));
  }
};

// Two input channels of 16 output channels: [output][input].
constexpr s64 kLine = 2 * kConvLanes;
using Lines = std::array<std::array<s16, kLine>, 3>;

// Rows (2 0 0), (1 1 1), (1 -1 1), (0 0 2) applied to a column of three: four results, `apart` from each other.
void transform_column(const Lines& column, s16* to, s64 apart) {
  const auto& [a, b, c] = column;
  for (size_t i = 0; i < kLine; ++i) to[i] = static_cast<s16>(2 * a[i]);
  to += apart;
  for (size_t i = 0; i < kLine; ++i) to[i] = static_cast<s16>(a[i] + b[i] + c[i]);
  to += apart;
  for (size_t i = 0; i < kLine; ++i) to[i] = static_cast<s16>(a[i] - b[i] + c[i]);
  to += apart;
  for (size_t i = 0; i < kLine; ++i) to[i] = static_cast<s16>(2 * c[i]);
}

// Four times G g G'. weights: of output and input channel 0 of the line; dst: 16 lines, `apart` from each other.
void transform_weights(const ConvWeights& from, const s8* weights, s64 outputs, s16* dst,
                       s64 apart) {
  std::array<Lines, 3> taps{};  // [x][y]
  for (s64 at = 0; at < 2 * outputs; ++at) {
    const s8* g = weights + at / 2 * from.channel_stride + at % 2 * 9 * from.k_stride;
    for (size_t tap = 0; tap < 9; ++tap, g += from.k_stride)
      taps[tap % 3][tap / 3][static_cast<size_t>(at)] = *g;
  }
  std::array<std::array<s16, kLine>, 12> rows;  // [x][transformed y]
  for (size_t x = 0; x < 3; ++x) transform_column(taps[x], rows[4 * x].data(), kLine);
  for (size_t y = 0; y < 4; ++y)
    transform_column({rows[y], rows[4 + y], rows[8 + y]}, dst + static_cast<s64>(y) * 4 * apart,
                     apart);
}

}  // namespace

const char* winograd_reject(const ConvGeometry& g, Isa isa) {
  const WindowAxis& h = g.window.h();
  const WindowAxis& w = g.window.w();
  if (!isa.has(Isa::avx2)) return "the instruction set has no vectors";
  if (isa.has(Isa::vnni) || isa.has(Isa::avx_vnni))
    return "products of words are not worth it beside vpdpbusd";
  if (g.window.rank != 2 || g.groups != 1) return "not a dense 2-D convolution";
  if (h.kernel != 3 || w.kernel != 3) return "the window is not 3x3";
  if (h.stride != 1 || w.stride != 1 || h.dilation != 1 || w.dilation != 1)
    return "the window has strides or dilations";
  if (g.in_channels % 16 != 0) return "the channels are no multiple of 16";
  // A sum of 9 * 1024 products of a u8 and an s8 is below 2^29, so four times the sum is a s32.
  if (g.in_channels > kMostChannels) return "the channels are more than 1024";
  if (g.in_channels * round_up(g.out_channels, kConvLanes) * kWinogradPatch * 2 > kMostWeightBytes)
    return "the transformed weights are too large to be read again";
  return nullptr;
}

bool winograd_fits(const ConvSpec& spec) {
  return window_border(spec.geometry.window) <= spec.input.border;
}

s64 winograd_workspace_bytes(const ConvGeometry& g, int threads) {
  return threads * Workspace(nullptr, tiles_at_once(g, threads), g.in_channels).bytes;
}

f64 winograd_cost(const ConvGeometry& g) {
  const auto in = static_cast<f64>(g.in_channels);
  const auto out = static_cast<f64>(round_up(g.out_channels, kConvLanes));
  const auto tiles = static_cast<f64>(tiles_of(g));
  // In the scale of conv_cost.cc: products, the transform of 16 channels of a patch, that of 8 channels of a tile's outputs.
  return 200 + tiles * (16 * in * out / 36 + in / 16 * 32 + out / 8 * 20);
}

std::string WinogradConv::pack_key(const WinogradKernel&, const ConvSpec& spec) {
  return "winograd " + constants_key(spec.geometry, spec.constants());
}

PackedWinograd WinogradConv::pack(const WinogradKernel&, const ConvSpec& spec) {
  const s64 in = spec.geometry.in_channels, out = spec.geometry.out_channels;
  const s64 padded = round_up(out, kConvLanes);
  PackedWinograd packed;
  packed.weights.resize(static_cast<size_t>(padded * kWinogradPatch * in));
  packed.bias.resize(static_cast<size_t>(padded));
  packed.multiplier.resize(packed.bias.size());
  const ConvWeights& weights = spec.weights;
  for (s64 o = 0; o < out; o += kConvLanes) {
    s16* block = packed.weights.data() + o * kWinogradPatch * in;
    const s8* first = weights.data.data() + o * weights.channel_stride;
    const s64 outputs = std::min(kConvLanes, out - o);
    for (s64 i = 0; i < in; i += 2)
      transform_weights(weights, first + 9 * i * weights.k_stride, outputs, block + i * kConvLanes,
                        kConvLanes * in);
  }
  for (s64 o = 0; o < out; ++o) {
    const auto at = static_cast<size_t>(o);
    packed.bias[at] = folded_bias(spec.constants(), spec.geometry, o);
    packed.multiplier[at] = spec.multiplier[spec.multiplier.size() == 1 ? 0 : at];
  }
  return packed;
}

WinogradConv::WinogradConv(const WinogradKernel& kernel, const ConvSpec& spec,
                           std::shared_ptr<const Packed> packed)
    : kernel_(kernel),
      conv_(spec),
      group_tiles_(tiles_at_once(spec.geometry, spec.threads)),
      bounded_(
          epilogue_bounded(spec.multiplier, spec.epilogue, largest_sum(spec.geometry, spec.bias))),
      plain_(bounded_ && !spec.epilogue.leaky && !spec.epilogue.real && !spec.epilogue.sums),
      packed_(std::move(packed)) {}

struct WinogradConv::Group {
  s64 first, tiles;
  Workspace workspace;
};

void WinogradConv::run(const Call& call) const noexcept {
  const s64 groups = ceil_div(tiles_of(conv_.geometry), group_tiles_);
  call.pool.parallel_for(
      groups, [&](s64 begin, s64 end, int thread) { run_groups(call, begin, end, thread); });
}

void WinogradConv::run_groups(const Call& call, s64 first, s64 last, int thread) const noexcept {
  const s64 in = conv_.geometry.in_channels;
  Group group{0, 0, Workspace(nullptr, group_tiles_, in)};
  group.workspace = Workspace(call.workspace + thread * group.workspace.bytes, group_tiles_, in);
  WinogradBlock block{};
  block.patches = group.workspace.patches;
  block.patch_stride = group_tiles_ * in;
  block.channels = in;
  block.sums = group.workspace.sums;
  block.dst = group.workspace.dst;
  block.residual = call.residual != nullptr ? group.workspace.residual : nullptr;
  block.output.epilogue = &conv_.epilogue;
  block.output.bounded = bounded_;
  block.output.plain = plain_ && call.residual == nullptr;
  for (s64 g = first; g < last; ++g) {
    group.first = g * group_tiles_;
    group.tiles = block.tiles = std::min(group_tiles_, tiles_of(conv_.geometry) - group.first);
    transform(call, group);
    locate(call, group);
    for (s64 c = 0; c < conv_.geometry.out_channels; c += kConvLanes) {
      block.weights = packed_->weights.data() + c * kWinogradPatch * in;
      block.output.bias = packed_->bias.data() + c;
      block.output.multiplier = packed_->multiplier.data() + c;
      block.output.channels = std::min(kConvLanes, conv_.geometry.out_channels - c);
      kernel_.block(block);
      const s64 element = conv_.epilogue.real ? 4 : 1;
      for (s64 i = 0; i < group.tiles * kTileOutputs; ++i) {
        if (block.dst[i] != group.workspace.nowhere) group.workspace.dst[i] += element * kConvLanes;
        if (call.residual != nullptr) group.workspace.residual[i] += kConvLanes;
      }
    }
  }
}

// Rows and columns of a patch beyond the border only reach outputs beyond the image: any others may stand for them.
void WinogradConv::transform(const Call& call, const Group& group) const noexcept {
  const WindowAxis& h = conv_.geometry.window.h();
  const WindowAxis& w = conv_.geometry.window.w();
  WinogradInput input{};
  input.channels = conv_.geometry.in_channels;
  input.patch_stride = group_tiles_ * input.channels;
  for (s64 t = 0; t < group.tiles; ++t) {
    const s64 tile = group.first + t, across = tiles_across(conv_.geometry);
    const s64 x = tile % across * 2, y = tile / across % tiles_down(conv_.geometry) * 2;
    const u8* image =
        call.x + tile / across / tiles_down(conv_.geometry) * conv_.input.image_stride;
    for (s64 i = 0; i < 4; ++i) {
      input.rows[i] = image + (std::min(y + i, h.out + 1) - h.pad_begin) * conv_.input.row_stride;
      input.columns[i] = (std::min(x + i, w.out + 1) - w.pad_begin) * conv_.input.pixel_stride;
    }
    input.dst = group.workspace.patches + t * input.channels;
    kernel_.input(input);
  }
}

void WinogradConv::locate(const Call& call, const Group& group) const noexcept {
  const WindowAxis& h = conv_.geometry.window.h();
  const WindowAxis& w = conv_.geometry.window.w();
  const s64 element = conv_.epilogue.real ? 4 : 1;
  for (s64 t = 0; t < group.tiles; ++t) {
    const s64 tile = group.first + t, across = tiles_across(conv_.geometry);
    const s64 image = tile / across / tiles_down(conv_.geometry);
    for (s64 i = 0; i < kTileOutputs; ++i) {
      const s64 x = tile % across * 2 + i % 2;
      const s64 y = tile / across % tiles_down(conv_.geometry) * 2 + i / 2;
      const bool inside = x < w.out && y < h.out;
      const auto at = [&](const Placement& p) {
        return image * p.image_stride + std::min(y, h.out - 1) * p.row_stride +
               std::min(x, w.out - 1) * p.pixel_stride;
      };
      group.workspace.dst[4 * t + i] =
          inside ? call.y + element * at(conv_.output) : group.workspace.nowhere;
      if (call.residual != nullptr)
        group.workspace.residual[4 * t + i] = call.residual + at(conv_.residual);
    }
  }
}

}  // namespace octet
