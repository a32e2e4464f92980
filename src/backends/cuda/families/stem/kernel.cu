// SPDX-License-Identifier: Apache-2.0
// The front of a network on Hopper: reals of an image -> codes or numbers of 16 bits -> convolution with stride 2 -> codes or reals, and with a pool behind that the
// largest of 3x3 windows with stride 2. Nothing between them reaches memory.
// A block is one warpgroup that goes down some columns of an image. Of each two rows of pixels it makes a row of cells in shared memory: word c
// of a cell is 2x2 codes of channel c (of reals two words for each term), so that a window is some rows of neighbouring cells. The four lanes that hold a row of the product in
// registers take a cell each; the next row of the window needs one row of cells more. Products of a row run while the next row becomes codes.
// With a pool the largest sum is found first: results grow with sums.
#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/epilogue.cuh"
#include "backends/cuda/device/real_end.cuh"
#include "backends/cuda/device/terms.cuh"
#include "backends/cuda/device/warpgroup.cuh"

using namespace octet::cuda;
using namespace octet::cuda::stem;

constexpr Spec s = Made::spec();
STEM_RULES(OCTET_RULE_ASSERT)

using CodeEnd = Epilogue<PartOf<Made, &Spec::end>>;
using OwnRealEnd = PartOf<Made, &Spec::real_end>;
using SumsEnd = RealEnding<OwnRealEnd, true>;

template <bool kReal>
struct SumOf {
  typedef s32 Type;
};
template <>
struct SumOf<true> {
  typedef f32 Type;
};
constexpr bool kReal = !is_code(s.number);
typedef SumOf<kReal>::Type Sum;

constexpr Tile kTile = s.tile;
constexpr bool kPool = s.pool;
constexpr s32 kChannels = s.x.channels, kCout = s.cout, kBn = s.bn, kWide = s.wide, kHigh = high(s), kGroups = s.groups;
constexpr s32 kTaps = taps(s), kSlots = slots(s), kCells = cells(s), kAhead = kTile.ahead, kWords = words(s), kPitch = pitch(s);
constexpr s32 kPaired = kChannels / 2, kWeightBlocks = weight_blocks(s);
constexpr bool kTerms = s.number == Number::f32;
constexpr s32 kOwn = own_channels(s), kSums = kBn / 2, kYBytes = kReal ? bytes_of(s.real_end.y) : 1;
constexpr s32 kUnroll = kGroups == 3 ? 12 : 4;  // of rows: a multiple of the groups, and of four where there is a pool
constexpr s32 kZeroPoint = s.codes.zero_point, kLowest = -2147483647 - 1;
constexpr s32 kOffCells = memory(s).cells, kOffEnds = memory(s).ends, kOffPixels = memory(s).pixels;
static_assert(kUnroll % kGroups == 0, "registers of groups take turns");

extern __shared__ u8 shared_memory[];

// What a block computes.
struct OwnTile {
  s32 image, row, column;  // of the result: the first
  s32 rows;                // of the convolution
  s32 h, w;                // of the convolution: the first, perhaps beyond the image
};
__device__ __forceinline__ OwnTile tile_of(s32 index) {
  OwnTile tile;
  tile.column = index % kTile.column_tiles * kTile.columns;
  tile.row = index / kTile.column_tiles % kTile.row_tiles * kTile.rows;
  tile.image = index / (kTile.column_tiles * kTile.row_tiles);
  const s32 rows = min(kTile.rows, s.height - tile.row);
  tile.rows = kPool ? 2 * rows + 1 : rows;
  tile.h = kPool ? 2 * tile.row - s.pool_top : tile.row, tile.w = kPool ? 2 * tile.column - s.pool_left : tile.column;
  return tile;
}

// A thread's part of the rows of cells: two neighbours of each channel, of one of the two rows of pixels. They come one row after another, kAhead of
// when they are needed, to a place that no other thread looks at. Beyond the image they are 0, whose code is the zero point.
struct Source {
  const f32* x;
  float2* own;
  s32 y, end;  // what lies behind `end` nobody needs
  bool first, second, odd = false;  // odd: a pixel has no terms
  __device__ __forceinline__ Source(const Params& p, const OwnTile& tile, u8* pixels) : own((float2*)pixels + threadIdx.x) {
    const s32 cell = threadIdx.x / 2, column = 2 * (tile.w + cell) - s.x.left, top = 2 * tile.h - s.x.top;
    y = top + threadIdx.x % 2, end = max(0, min(s.x.height, top + 2 * (tile.rows + kTaps - 1)));
    first = cell < kCells && (u32)column < (u32)s.x.width, second = cell < kCells && (u32)(column + 1) < (u32)s.x.width;
    x = p.x + (s64)tile.image * s.x.image + (s64)y * s.x.row + column;
  }
  __device__ __forceinline__ float2* place(s32 row, s32 c) const { return own + ((u32)row % kAhead * kChannels + c) * 128; }
  // Asks for the next row, which is this one.
  __device__ __forceinline__ void ask(s32 row) {
    const bool inside = (u32)y < (u32)end;
#pragma unroll
    for (s32 c = 0; c < kChannels; ++c) {
      const f32* from = x + (s64)c * s.x.channel;
      if constexpr (s.x.pairs) {
        copy_async_or_zero<8>(place(row, c), from, inside && first);
      } else {
        copy_async_or_zero<4>(place(row, c), from, inside && first);
        copy_async_or_zero<4>((f32*)place(row, c) + 1, from + 1, inside && second);
      }
    }
    copy_async_commit();
    x += 2 * s.x.row, y += 2;
  }
};

// The code in the low byte. Fast: quotient() of device/elements.cuh, clamped before; adding 1.5 * 2^23 rounds, ties to even.
__device__ __forceinline__ u32 code_of_pixel(f32 x) {
  if constexpr (s.codes.fast) {
    x = x == x ? fminf(fmaxf(x, value_of(s.codes.least)), value_of(s.codes.most)) : 0.0f;
    const f32 q = f32_mul(x, value_of(s.codes.reciprocal));
    const f32 better = f32_fma(f32_fma(-q, value_of(s.codes.scale), x), value_of(s.codes.reciprocal), q);
    return bits_of(f32_add(better, 12582912.0f + (f32)(kZeroPoint - (kZeroPoint & 1)))) + (kZeroPoint & 1);
  }
  return (u32)quantized(x, value_of(s.codes.scale), 0.0f, kZeroPoint, s.codes.is_signed ? -128 : 0, s.codes.is_signed ? 127 : 255);
}

// Makes a row of cells, and asks for the pixels of another in the place of its own.
__device__ __forceinline__ void store_cells(u32* cells, Source& source, s32 row) {
  copy_async_wait<kAhead - 1>();
  u32* to = cells + (u32)row % kSlots * (kChannels * kWords * kPitch) + threadIdx.x / 2;
#pragma unroll
  for (s32 c = 0; c < kChannels; ++c) {
    const float2 two = *source.place(row, c);
    if constexpr (kTerms) {
      f32 left = two.x, right = two.y;
      source.odd |= has_no_terms(left) || has_no_terms(right);
#pragma unroll
      for (s32 t = 0; t < x_terms(s); ++t) {
        to[(kWords * c + 2 * t + threadIdx.x % 2) * kPitch] = upper_halves(left, right);
        left = without_upper_half(left), right = without_upper_half(right);
      }
    } else if constexpr (kReal) {
      to[(2 * c + threadIdx.x % 2) * kPitch] = half_pair<s.number>(two.x, two.y);
    } else {
      ((u16*)(to + c * kPitch))[threadIdx.x % 2] = (u16)__byte_perm(code_of_pixel(two.x), code_of_pixel(two.y), 0x0040);
    }
  }
  source.ask(row + kAhead);
}

// Where a lane's two rows of the product begin in a row of cells. With a pool a window that reaches over an edge takes the last column instead,
// which it holds anyway.
struct Columns {
  s32 cell[2];
  __device__ __forceinline__ Columns(const OwnTile& tile) {
    const s32 warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4;
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 column = kPool ? 14 * warp + 2 * g + half : 16 * warp + g + 8 * half;
      cell[half] = (kPool ? max(-tile.w, min(s.out_w - 1 - tile.w, column)) : column) + threadIdx.x % 4 % kWide;
    }
  }
};

// A lane's words of a group for its two rows of the product.
struct Group {
  u32 at[2][kChannels * kWords];
  // `row`: of cells, the last of the group.
  __device__ __forceinline__ void load(const u32* cells, const Columns& columns, s32 row) {
    const s32 slot = (u32)(row - (kHigh - 1) + (s32)threadIdx.x % 4 / kWide) % kSlots;
#pragma unroll
    for (s32 half = 0; half < 2; ++half)
#pragma unroll
      for (s32 c = 0; c < kChannels * kWords; ++c) at[half][c] = cells[(slot * kChannels * kWords + c) * kPitch + columns.cell[half]];
  }
};

#ifndef OCTET_WITHOUT_WGMMA
// All products of a row of the convolution, of wgmma alone (reals.cc); groups[first] is the highest of its window.
__device__ __forceinline__ void multiply(f32 (&acc)[kSums], const Group (&groups)[kGroups], s32 first, u64 weights) {
  products_begin();
#pragma unroll
  for (s32 place = 0; place < kGroups; ++place) {
    const auto& own = groups[(first + place) % kGroups].at;
#pragma unroll
    for (s32 c = 0; c < kChannels; ++c) {
      const u32 a[4] = {own[0][c * kWords], own[1][c * kWords], own[0][c * kWords + kWords - 1], own[1][c * kWords + kWords - 1]};
      product<s.number == Number::f16>(acc, a, weights + (place * kChannels + c) * (kBn * kKBytes / 16), place + c != 0);
    }
  }
  products_end();
}
#endif

// All products of codes of a row of the convolution, those that need the group that came last behind the others; groups[first] is the highest of its
// window.
__device__ __forceinline__ void multiply(s32 (&acc)[kSums], const Group (&groups)[kGroups], s32 first, u64 weights) {
  constexpr s32 kLast = kChannels - 1, kBlock = kBn * kKBytes / 16;
  products_begin();
#pragma unroll
  for (s32 place = 0; place < kGroups; ++place) {
    const auto& own = groups[(first + place) % kGroups].at;
#pragma unroll
    for (s32 c = 0; c < 2 * kPaired; c += 2) {
      const u32 a[4] = {own[0][c], own[1][c], own[0][c + 1], own[1][c + 1]};
      product<s.codes.is_signed>(acc, a, weights + (place * kPaired + c / 2) * kBlock, place + c != 0);
    }
  }
#pragma unroll
  for (s32 pair = 0; pair < (kChannels % 2 == 0 ? 0 : kGroups); pair += 2) {
    const s32 i = ((first + 1) / 2 * 2 + pair) % (kGroups + kGroups % 2);
    const bool alone = i + 1 == kGroups;
    const auto &own = groups[i].at, &next = groups[alone ? i : i + 1].at;
    const u32 a[4] = {own[0][kLast], own[1][kLast], alone ? 0 : next[0][kLast], alone ? 0 : next[1][kLast]};
    const s32 place = (i - first + kGroups) % kGroups;
    product<s.codes.is_signed>(acc, a, weights + (kGroups * kPaired + place + (alone ? kGroups : 0)) * kBlock, pair + kPaired != 0);
  }
  products_end();
}

// Multipliers and biases in shared memory: of channel kOwn * q + 4w + e at 16w + 4q + e, so that four lanes read 64 bytes.
__device__ __forceinline__ void store_ends(const Params& p, u8* ends) {
  if (threadIdx.x >= kBn) return;
  const s32 channel = threadIdx.x, q = channel / kOwn, w = channel % kOwn / 4, at = 16 * w + 4 * q + channel % 4;
  if constexpr (kReal) {
    ((f32*)ends)[at] = s.real_end.bias && channel < kCout ? p.real_end.bias[channel] : 0.0f;
    return;
  }
  ((f32*)ends)[at] = channel < kCout ? p.end.multiplier[channel] : 0.0f;
  ((s32*)ends)[kBn + at] = channel < kCout ? p.end.bias[channel] : 0;
}

// Of channels 4w to 4w + 3 of a thread. Their results are words.
template <bool kReals>
struct Ends {
  float4 bias;
  __device__ __forceinline__ void load(const u8* ends, s32 w) { bias = *(const float4*)(ends + 64 * w + threadIdx.x % 4 * 16); }
  __device__ __forceinline__ void finish(u32* words, const f32 (&sums)[4], const u8*) const {
    const f32 t[4] = {SumsEnd::real_of(sums[0], bias.x, 0.0f), SumsEnd::real_of(sums[1], bias.y, 0.0f), SumsEnd::real_of(sums[2], bias.z, 0.0f),
                      SumsEnd::real_of(sums[3], bias.w, 0.0f)};
    const auto piece = SumsEnd::packed(t);
#pragma unroll
    for (s32 i = 0; i < kYBytes; ++i) words[i] = piece.words[i];
  }
};
template <>
struct Ends<false> {
  uint4 multiplier;
  int4 bias;
  __device__ __forceinline__ void load(const u8* ends, s32 w) {
    multiplier = *(const uint4*)(ends + 64 * w + threadIdx.x % 4 * 16);
    bias = *(const int4*)(ends + 4 * kBn + 64 * w + threadIdx.x % 4 * 16);
  }
  __device__ __forceinline__ void finish(u32* words, const s32 (&sums)[4], const u8* table) const {
    const u8 addend[4] = {};
    const f32 t[4] = {CodeEnd::product_real(sums[0] + bias.x, f32_bits(multiplier.x), 0.0f), CodeEnd::product_real(sums[1] + bias.y, f32_bits(multiplier.y), 0.0f),
                      CodeEnd::product_real(sums[2] + bias.z, f32_bits(multiplier.z), 0.0f), CodeEnd::product_real(sums[3] + bias.w, f32_bits(multiplier.w), 0.0f)};
    words[0] = CodeEnd::product_codes(t, table, addend);
  }
};

// A thread's channels of a pixel, if it has any.
struct Result {
  u8* to;
  bool exists;
  __device__ __forceinline__ Result(const Params& p, const OwnTile& tile, s32 in_tile) {
    const s32 column = tile.column + in_tile, channel = threadIdx.x % 4 * kOwn;
    to = (kReal ? (u8*)p.real_end.y : p.end.out) + ((s64)tile.image * s.y.image + (s64)tile.row * s.y.row + (s64)column * s.y.pixel + channel) * kYBytes;
    exists = in_tile < kTile.columns && column < s.width && channel < kCout;
  }
  __device__ __forceinline__ void store(const u32 (&words)[kOwn * kYBytes / 4]) {
    if (exists) {
#pragma unroll
      for (s32 v = 0; v < kOwn; v += s.y_access)
        if (kCout % kOwn == 0 || (s32)threadIdx.x % 4 * kOwn + v < kCout) store_codes<s.y_access * kYBytes>(to + v * kYBytes, (const u8*)words + v * kYBytes);
    }
    to += s.y.row * kYBytes;
  }
};

// Of a row: a thread has two pixels, or with a pool one of the seven of a warp.
template <bool kPooled>
struct Results {
  Result own[2];
  __device__ __forceinline__ Results(const Params& p, const OwnTile& tile, s32 warp, s32 g)
      : own{Result(p, tile, 16 * warp + g), Result(p, tile, 16 * warp + g + 8)} {}
};
template <>
struct Results<true> {
  Result own[1];
  __device__ __forceinline__ Results(const Params& p, const OwnTile& tile, s32 warp, s32 g)
      : own{Result(p, tile, g < 7 ? 7 * warp + g : kTile.columns)} {}
};

__device__ __forceinline__ s32 larger_sum(s32 a, s32 b) { return max(a, b); }
__device__ __forceinline__ f32 larger_sum(f32 a, f32 b) { return max_or_nan(a, b); }
__device__ __forceinline__ s32 sum_of_next_column(s32 sum) { return __shfl_down_sync(~0u, sum, 4); }
__device__ __forceinline__ f32 sum_of_next_column(f32 sum) { return f32_bits(__shfl_down_sync(~0u, bits_of(sum), 4)); }

__device__ __forceinline__ void keep_larger(Sum (&to)[kSums], const Sum (&from)[kSums]) {
#pragma unroll
  for (s32 i = 0; i < kSums; ++i) to[i] = larger_sum(to[i], from[i]);
}
// Of a row beyond the image. It is rare: a branch, not a selection of each sum.
__device__ __forceinline__ void forget(Sum (&sums)[kSums]) {
  asm volatile("" ::: "memory");
#pragma unroll
  for (s32 i = 0; i < kSums; ++i) sums[i] = kReal ? -INFINITY_F32 : (Sum)kLowest;
}

// The last of three rows, and the largest of the two before it: a lane has columns 2g and 2g + 1 of its warp's 16, the next one's first is the
// third of its window. So a warp makes seven pixels.
__device__ __forceinline__ void finish_pool(Result& result, const u8* ends, const Sum (&before)[kSums], const Sum (&last)[kSums]) {
  u32 words[kOwn * kYBytes / 4];
#pragma unroll
  for (s32 w = 0; w < kOwn / 4; ++w) {
    Sum sums[4];
#pragma unroll
    for (s32 e = 0; e < 4; ++e) {
      const s32 at = w * 8 + e / 2 * 4 + e % 2;
      const Sum left = larger_sum(before[at], last[at]), middle = larger_sum(before[at + 2], last[at + 2]);
      sums[e] = larger_sum(larger_sum(left, middle), sum_of_next_column(left));
    }
    Ends<kReal> own;
    own.load(ends, w);
    own.finish(words + w * kYBytes, sums, ends + 8 * kBn);
  }
  result.store(words);
}

__device__ __forceinline__ void finish_row(Result* results, const Ends<kReal> (&ends)[kOwn / 4], const u8* table, const Sum (&acc)[kSums]) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    u32 words[kOwn * kYBytes / 4];
#pragma unroll
    for (s32 w = 0; w < kOwn / 4; ++w) {
      const Sum* four = acc + 8 * w + 2 * half;
      const Sum sums[4] = {four[0], four[1], four[4], four[5]};
      ends[w].finish(words + w * kYBytes, sums, table);
    }
    results[half].store(words);
  }
}

// How products read rows of cells. Of codes and of 16 bits a lane keeps the words of its window, whose next row asks for one group more.
template <bool kOfTerms>
struct Rows;
template <>
struct Rows<false> {
  Group groups[kGroups];
  __device__ __forceinline__ void begin(const u32* cells, const Columns& columns, s32 row) {
    if (kHigh == 1) groups[row % kGroups].load(cells, columns, row);
  }
  // A row of the convolution, whose window begins in row `v` of cells, which is number u; `beside` is done while products are on their way.
  template <class Beside>
  __device__ __forceinline__ void multiply_row(Sum (&acc)[kSums], const u32* cells, const Columns& columns, s32 v, s32 u, u64 weights, const Beside& beside) {
    groups[(u + kTaps - 1) % kGroups].load(cells, columns, v + kTaps - 1);
    multiply(acc, groups, u % kGroups, weights);
    beside();
    products_wait<0>();
    hold(acc);
  }
  __device__ __forceinline__ void end(const Params&, const OwnTile&, bool) const {}
};

#ifndef OCTET_WITHOUT_WGMMA
// All products of a row of the convolution whose window begins in row `row` of cells, of terms. Sums leave the tensor core, which truncates, after each 32 of k
// (kPart products of 16, times terms), of which the smallest products come first; `beside` is done while the last are on their way.
constexpr s32 kPart = 2, kSteps = kGroups * kChannels, kParts = ceil_div_s32(kSteps, kPart);

__device__ __forceinline__ void multiply_part(f32 (&sums)[kSums], const u32* cells, const Columns& columns, s32 row, u64 weights, s32 part) {
  constexpr s32 kLast = x_terms(s) > s.w_terms ? x_terms(s) - 1 : s.w_terms - 1;  // of the products of terms i and j, i + j
  u32 a[kPart][x_terms(s)][4];
#pragma unroll
  for (s32 i = 0; i < kPart; ++i) {
    const s32 step = part * kPart + i;
    if (step >= kSteps) break;
    const s32 slot = (u32)(row + step / kChannels * kHigh + (s32)threadIdx.x % 4 / kWide) % kSlots;
    const u32* from = cells + (slot * kChannels + step % kChannels) * kWords * kPitch;
#pragma unroll
    for (s32 t = 0; t < x_terms(s); ++t)
#pragma unroll
      for (s32 word = 0; word < 4; ++word) a[i][t][word] = from[(2 * t + word / 2) * kPitch + columns.cell[word % 2]];
  }
  products_begin();
  bool first = true;
#pragma unroll
  for (s32 sum = kLast; sum >= 0; --sum)
#pragma unroll
    for (s32 i = 0; i < kPart; ++i)
#pragma unroll
      for (s32 t = 0; t < x_terms(s); ++t) {
        const s32 step = part * kPart + i;
        if (step >= kSteps || sum - t < 0 || sum - t >= s.w_terms) continue;
        product<false>(sums, a[i][t], weights + (step * s.w_terms + sum - t) * (kBn * kKBytes / 16), !first);
        first = false;
      }
  products_end();
}

__device__ __forceinline__ void add_part(f32 (&acc)[kSums], f32 (&part)[kSums], bool first) {
  hold(part);
#pragma unroll
  for (s32 i = 0; i < kSums; ++i) acc[i] = first ? part[i] : f32_add(acc[i], part[i]);
}

// A sum without terms.
__device__ __forceinline__ f32 serial_sum(const Params& p, s32 image, s32 h, s32 w, s32 channel) {
  const u16* weights = (const u16*)p.weights;
  const s32 row = row_of_channel(channel, s);
  f32 sum = 0.0f;
#pragma unroll 1
  for (s32 tap = 0; tap < s.window.h * s.window.w; ++tap) {
    const s32 cell_h = tap / s.window.w + s.window.phase_h, cell_w = tap % s.window.w + s.window.phase_w;  // twice the cell, and the pixel in it
    const s32 y = 2 * h - s.x.top + cell_h, x = 2 * w - s.x.left + cell_w;
    if ((u32)y >= (u32)s.x.height || (u32)x >= (u32)s.x.width) continue;
    const s32 group = cell_h / 2 / kHigh, lane = cell_h / 2 % kHigh * kWide + cell_w / 2, k = 8 * (cell_h % 2) + 2 * lane + cell_w % 2;
    for (s32 c = 0; c < kChannels; ++c) {
      f32 weight = 0.0f;
      for (s32 t = s.w_terms - 1; t >= 0; --t) weight = f32_add(weight, real_of_bf16(weights[word_of_weight((group * kChannels + c) * s.w_terms + t, row, k, s)]));
      sum = f32_fma(p.x[(s64)image * s.x.image + (s64)c * s.x.channel + (s64)y * s.x.row + x], weight, sum);
    }
  }
  return sum;
}
__device__ __forceinline__ f32 serial_pool(const Params& p, s32 image, s32 h, s32 w, s32 channel) {
  f32 largest = -INFINITY_F32;
  for (s32 i = 0; i < 9; ++i) {
    const s32 y = 2 * h - s.pool_top + i / 3, x = 2 * w - s.pool_left + i % 3;
    if ((u32)y < (u32)s.out_h && (u32)x < (u32)s.out_w) largest = max_or_nan(largest, serial_sum(p, image, y, x, channel));
  }
  return largest;
}
// A block that meets an infinity or NaN in its pixels, of which terms would make NaN: once more, from the pixels themselves.
template <class End>
__device__ __noinline__ void store_serial_sums(const Params& p, const OwnTile& tile) {
  const s32 rows = min(kTile.rows, s.height - tile.row), columns = min(kTile.columns, s.width - tile.column);
  for (s32 i = threadIdx.x; i < rows * columns * kCout; i += 128) {
    const s32 channel = i % kCout, w = tile.column + i / kCout % columns, h = tile.row + i / kCout / columns;
    const f32 sums[1] = {kPool ? serial_pool(p, tile.image, h, w, channel) : serial_sum(p, tile.image, h, w, channel)};
    End::template store<1>(p.real_end, channel, tile.image * s.y.image + h * s.y.row + w * s.y.pixel + channel, 0, sums);
  }
}

// Of terms, which are too many to be kept.
template <bool kOfTerms>
struct Rows {
  __device__ __forceinline__ void begin(const u32*, const Columns&, s32) {}
  template <class Beside>
  __device__ __forceinline__ void multiply_row(f32 (&acc)[kSums], const u32* cells, const Columns& columns, s32 v, s32, u64 weights, const Beside& beside) {
    f32 parts[2][kSums];
#pragma unroll
    for (s32 part = 0; part < kParts; ++part) {
      multiply_part(parts[part % 2], cells, columns, v, weights, part);
      if (part == 0) continue;
      products_wait<1>();
      add_part(acc, parts[(part - 1) % 2], part == 1);
    }
    beside();
    products_wait<0>();
    add_part(acc, parts[(kParts - 1) % 2], kParts == 1);
  }
  __device__ __forceinline__ void end(const Params& p, const OwnTile& tile, bool odd) const {
    if (__syncthreads_or(odd)) store_serial_sums<RealEnding<OwnRealEnd, kOfTerms>>(p, tile);
  }
};
#endif

extern "C" __global__ void __launch_bounds__(128, kTile.blocks) octet_kernel(const __grid_constant__ Params p) {
  constexpr u32 kAlignment = 8 * kKBytes;
  const u32 weights = (shared_address(shared_memory) + kAlignment - 1) / kAlignment * kAlignment;
  u8* base = shared_memory + (weights - shared_address(shared_memory));
  u32* cells = (u32*)(base + kOffCells);
  for (s32 i = threadIdx.x; i < kWeightBlocks * kBn * kKBytes / 16; i += 128) ((uint4*)base)[i] = ((const uint4*)p.weights)[i];
  u8* ends = base + kOffEnds;
  store_ends(p, ends);
  if constexpr (s.end.table)
    CodeEnd::copy_table(ends + 8 * kBn, p.end.table, threadIdx.x, 128);
  publish_shared();
  __syncthreads();
  let_successor_begin();
  wait_for_predecessor();

  const OwnTile tile = tile_of(blockIdx.x);
  const Columns columns(tile);
  const u64 operands = operand<kKBytes>(weights);
  Source source(p, tile, base + kOffPixels);
  for (s32 row = 0; row < kAhead; ++row) source.ask(row);
  const s32 warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4;
  Results<kPool> results(p, tile, warp, g);
  Ends<kReal> own_ends[kOwn / 4];  // of no use with a pool, whose sums take many registers
#pragma unroll
  for (s32 w = 0; w < kOwn / 4; ++w) own_ends[w].load(ends, w);
  Rows<kTerms> rows;
  Sum acc[kPool ? 2 : 1][kSums];
#pragma unroll
  for (s32 row = 0; row < kTaps; ++row) {
    store_cells(cells, source, row);
    if (row == kTaps - 1) break;
    __syncthreads();
    rows.begin(cells, columns, row);
  }
  for (s32 from = 0; from < tile.rows; from += kUnroll) {
#pragma unroll
    for (s32 u = 0; u < kUnroll; ++u) {
      const s32 v = from + u, row = v + kTaps - 1;
      if (v >= tile.rows) break;
      __syncthreads();
      // With a pool rows 2i and 2i + 2 of the convolution end windows; sums of 2i stay where they are until 2i + 2 is there.
      Sum(&own)[kSums] = acc[kPool ? (u + 1) / 2 % 2 : 0];
      rows.multiply_row(own, cells, columns, v, u, operands, [&] { store_cells(cells, source, row + 1); });
      if constexpr (kPool) {
        Sum(&other)[kSums] = acc[1 - (u + 1) / 2 % 2];
        if ((u32)(tile.h + v) >= (u32)s.out_h) forget(own);
        if (u % 2 == 1) keep_larger(other, own);
        if (u % 2 == 0 && v > 0) finish_pool(results.own[0], ends, other, own);
      } else {
        finish_row(results.own, own_ends, ends + 8 * kBn, own);
      }
    }
  }
  rows.end(p, tile, source.odd);
}
