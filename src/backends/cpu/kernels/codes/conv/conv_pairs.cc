// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/conv_pairs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <unordered_map>

#include "backends/cpu/kernels/codes/conv/conv_excess.h"
#include "backends/cpu/kernels/codes/conv/conv_pair_steps.h"

namespace octet {
namespace {

constexpr size_t kPairings = 3, kFlips = 4, kAll = kPairings * kFlips;
constexpr size_t kChunk = kConvChunk, kLanes = kPairLanes;
// Bytes of a chunk in the order of each pairing.
constexpr std::array<std::array<size_t, kChunk>, kPairings> kOrders = {
    {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}}};
constexpr s16 kMost = kMostOfPair;

// A way to read a chunk: pairing * kFlips + which pairs have their second byte inverted.
using Variant = size_t;
using Variants = u32;  // a bit for each

using Columns = PairColumns;
// [channel][byte], of a variant.
using Step = std::array<s8, kLanes * kChunk>;

// Bit 0: two bytes are exact as they are; bit 1: with the second inverted (the opposite of -128 is no s8).
u32 exact(const std::array<s16, kLanes>& a, const std::array<s16, kLanes>& b) {
  s16 plain = 0, flipped = 0, least = 0;
  for (size_t c = 0; c < kLanes; ++c) {
    const auto sum = static_cast<s16>(a[c] + b[c]), difference = static_cast<s16>(a[c] - b[c]);
    plain = std::max(plain, std::max(sum, static_cast<s16>(-sum)));
    flipped = std::max(flipped, std::max(difference, static_cast<s16>(-difference)));
    least = std::min(least, b[c]);
  }
  return (plain <= kMost ? 1u : 0u) + (flipped <= kMost && least > -128 ? 2u : 0u);
}

Variants exact_variants(const Columns& chunk) {
  Variants result = 0;
  for (size_t pairing = 0; pairing < kPairings; ++pairing) {
    const auto& order = kOrders[pairing];
    const u32 first = exact(chunk[order[0]], chunk[order[1]]);
    const u32 second = exact(chunk[order[2]], chunk[order[3]]);
    for (size_t flips = 0; flips < kFlips; ++flips) {
      const u32 both = (first >> (flips & 1)) & (second >> (flips >> 1)) & 1;
      result |= both << (pairing * kFlips + flips);
    }
  }
  return result;
}

bool flipped(Variant variant, size_t byte) {
  return byte % 2 != 0 && (variant % kFlips >> (byte / 2) & 1) != 0;
}

Step in_order(const Columns& chunk, Variant variant) {
  Step step;
  for (size_t i = 0; i < kChunk; ++i) {
    const auto& column = chunk[kOrders[variant / kFlips][i]];
    const s32 sign = flipped(variant, i) ? -1 : 1;
    for (size_t c = 0; c < kLanes; ++c) step[c * kChunk + i] = static_cast<s8>(sign * column[c]);
  }
  return step;
}

// All chunks of all blocks, and what is exact for them: [block][chunk].
struct Layer {
  size_t blocks, chunks;
  std::vector<Columns> columns;
  std::vector<Variants> exact;

  Layer(const ConvWeights& weights, const ConvChunks& from, ChannelRange channels)
      : blocks(static_cast<size_t>((channels.count + kPairLanes - 1) / kPairLanes)),
        chunks(from.offsets.size()),
        columns(blocks * chunks),
        exact(blocks * chunks) {
    for (size_t at = 0; at < columns.size(); ++at) {
      const s64 first = static_cast<s64>(at / chunks * kLanes);
      const auto lanes = static_cast<size_t>(std::min(kPairLanes, channels.count - first));
      const s64* sources = from.sources.data() + at % chunks * kChunk;
      for (size_t i = 0; i < kChunk; ++i) {
        if (sources[i] < 0) continue;
        const s8* src = weights.data.data() + (channels.first + first) * weights.channel_stride +
                        sources[i] * weights.k_stride;
        for (size_t c = 0; c < lanes; ++c)
          columns[at][i][c] = src[static_cast<s64>(c) * weights.channel_stride];
      }
      exact[at] = exact_variants(columns[at]);
    }
  }
};

std::vector<ConvRun> runs_of(const std::vector<s64>& offsets) {
  std::vector<ConvRun> runs;
  for (const s64 offset : offsets) {
    if (!runs.empty() && offset == runs.back().offset + runs.back().chunks * kConvChunk) {
      ++runs.back().chunks;
    } else {
      runs.push_back({offset, 1});
    }
  }
  return runs;
}

// Cycles of a tile of six pixels: a step, one of words instead, writing 32 bytes of a variant; copying the window begins.
constexpr f64 kStepCycles = 6, kWordStepCycles = 8, kWriteCycles = 9, kCopyCycles = 40;

s64 variant_bytes(size_t chunks) {
  constexpr s64 kRegister = 32;
  return (static_cast<s64>(chunks) * kConvChunk + kRegister - 1) / kRegister * kRegister;
}

struct Choice {
  Variants variants = 0;  // none: chunks are read where they lie
  bool words = false;
  f64 cycles = 0;
};

// Adds the variant that helps most while one does.
class Chooser {
 public:
  Chooser(const Layer& layer, const std::vector<ConvRun>& runs)
      : copy_cycles_(kCopyCycles + static_cast<f64>(copies(runs)) * kWriteCycles),
        row_cycles_(static_cast<f64>(variant_bytes(layer.chunks)) / 32 * kWriteCycles) {
    for (const Variants exact : layer.exact) ++counts_[exact];
  }

  Choice best() const {
    Choice choice = with(1);
    while (std::popcount(choice.variants) < kPairVariants) {
      Choice next = choice;
      for (Variant v = 0; v < kAll; ++v) {
        const Choice more = with(choice.variants | 1u << v);
        if (more.cycles < next.cycles) next = more;
      }
      if (next.variants == choice.variants) break;
      choice = next;
    }
    return choice;
  }

 private:
  Choice with(Variants variants) const {
    s64 steps = 0, words = 0;
    for (const auto& [exact, count] : counts_) ((exact & variants) != 0 ? steps : words) += count;
    const f64 rows = std::popcount(variants) - 1 + (words > 0 ? 2 : 0);
    return {variants, words > 0,
            static_cast<f64>(steps) * kStepCycles + static_cast<f64>(words) * kWordStepCycles +
                copy_cycles_ + rows * row_cycles_};
  }

  // See copy_runs().
  static s64 copies(const std::vector<ConvRun>& runs) {
    s64 count = 0;
    for (const ConvRun& run : runs) count += run.chunks < 8 ? 2 : (run.chunks + 7) / 8;
    return count;
  }

  f64 copy_cycles_;
  f64 row_cycles_;
  std::unordered_map<Variants, s64> counts_;  // few where a layer has thousands of small groups
};

s64 row_pitch(s64 bytes) {
  const s64 lines = (bytes + 63) / 64;
  return (lines + (lines % 2 == 0 ? 1 : 0)) * 64;  // odd: rows share no sets of a cache
}

ConvPairRows rows_of(const Choice& choice, const std::vector<ConvRun>& runs, size_t chunks) {
  ConvPairRows rows{};
  rows.run_count = static_cast<s64>(runs.size());
  rows.bytes = variant_bytes(chunks);
  for (Variant v = 0; v < kAll; ++v) {
    if ((choice.variants >> v & 1) == 0) continue;
    u32 order = 0, flips = 0;
    for (size_t i = 0; i < kChunk; ++i) {
      order |= static_cast<u32>(kOrders[v / kFlips][i]) << (8 * i);
      flips |= (flipped(v, i) ? 0xffu : 0u) << (8 * i);
    }
    rows.orders[rows.variants] = static_cast<s32>(order);
    rows.flips[rows.variants++] = static_cast<s32>(flips);
  }
  rows.words = choice.words;
  rows.pitch = row_pitch(rows.bytes * (rows.variants + (rows.words ? 2 : 0)));
  return rows;
}

// How little room two bytes leave for those of another step in the same s16.
s32 roughness(const std::array<s16, kLanes>& a, const std::array<s16, kLanes>& b, s16 sign) {
  constexpr s16 kSmooth = 40;  // sums that find a partner anyhow; measured
  s32 total = 0;
  for (size_t c = 0; c < kLanes; ++c) {
    const auto second = static_cast<s16>(sign * b[c]);
    const auto above = static_cast<s16>(std::max<s16>(a[c], 0) + std::max<s16>(second, 0));
    const auto below = static_cast<s16>(-std::min<s16>(a[c], 0) - std::min<s16>(second, 0));
    const auto beyond = static_cast<s16>(std::max(above, below) - kSmooth);
    const s16 most = std::max<s16>(beyond, 0);
    total += most * most;
  }
  return total;
}

Variant smoothest(const Columns& chunk, Variants exact) {
  auto best = static_cast<Variant>(std::countr_zero(exact));
  if (std::has_single_bit(exact)) return best;
  // Of each pair of a pairing, as it is and with its second byte inverted: two variants have each of them.
  s32 rough[kPairings][2][2];
  for (size_t pairing = 0; pairing < kPairings; ++pairing) {
    for (size_t pair = 0; pair < 2; ++pair) {
      const size_t* order = &kOrders[pairing][2 * pair];
      rough[pairing][pair][0] = roughness(chunk[order[0]], chunk[order[1]], 1);
      rough[pairing][pair][1] = roughness(chunk[order[0]], chunk[order[1]], -1);
    }
  }
  s32 least = std::numeric_limits<s32>::max();
  for (Variant v = 0; v < kAll; ++v) {
    if ((exact >> v & 1) == 0) continue;
    const auto& pairs = rough[v / kFlips];
    const s32 sum = pairs[0][flipped(v, 1) ? 1 : 0] + pairs[1][flipped(v, 3) ? 1 : 0];
    if (sum >= least) continue;
    least = sum;
    best = v;
  }
  return best;
}

// Steps that read prepared rows.
class RowSteps {
 public:
  RowSteps(const Layer& layer, Variants variants)
      : layer_(layer), variants_(variants), bytes_(variant_bytes(layer.chunks)) {}

  PairSteps of(size_t block) const {
    PairSteps steps;
    for (size_t k = 0; k < layer_.chunks; ++k) {
      const Variants exact = layer_.exact[block * layer_.chunks + k] & variants_;
      if (exact == 0) {
        steps.words.push_back(k);
        continue;
      }
      const Variant variant = smoothest(layer_.columns[block * layer_.chunks + k], exact);
      const s64 row = std::popcount(variants_ & ((1u << variant) - 1));
      const s64 position = row * bytes_ + static_cast<s64>(k * kChunk);
      steps.singles.push_back({in_order(layer_.columns[block * layer_.chunks + k], variant),
                               static_cast<s32>(position), k, static_cast<u32>(variant)});
    }
    pair_up(steps);
    return steps;
  }

 private:
  const Layer& layer_;
  Variants variants_;
  s64 bytes_;  // of a variant
};

PairSteps sorted(const std::vector<PairStep>& in_place) {
  PairSteps steps;
  for (const PairStep& step : in_place) {
    const Variant variant = step.pairing * kFlips;
    auto& kind = step.pairing == 0 ? steps.singles : steps.swapped[step.pairing - 1];
    kind.push_back({in_order(step.weights, variant), static_cast<s32>(step.offset), 0, 0});
  }
  pair_up(steps);
  return steps;
}

class BlockWriter {
 public:
  BlockWriter(const Layer& layer, s64 first_word, PackedConv& packed)
      : layer_(layer), first_word_(first_word), packed_(packed) {}

  void append(const PairSteps& steps, size_t block, std::span<s32> bias) {
    const auto count = [](const auto& some) { return static_cast<s64>(some.size()); };
    packed_.pair_blocks.push_back({count(packed_.pair_positions),
                                   count(packed_.weights),
                                   count(steps.doubles) / 2,
                                   count(steps.singles),
                                   {count(steps.swapped[0]), count(steps.swapped[1])},
                                   count(steps.words)});
    for (const auto* kind :
         {&steps.doubles, &steps.singles, &steps.swapped[0], &steps.swapped[1]}) {
      for (const PairSingle& step : *kind) append_step(step, block, bias);
    }
    for (const size_t chunk : steps.words) append_word(block, chunk);
  }

 private:
  void append_step(const PairSingle& step, size_t block, std::span<s32> bias) {
    packed_.pair_positions.push_back(step.position);
    append_bytes(step.weights.data(), step.weights.size());
    if (step.variant % kFlips == 0) return;
    const Columns& chunk = layer_.columns[block * layer_.chunks + step.chunk];
    for (size_t i = 0; i < kChunk; ++i) {
      if (!flipped(step.variant, i)) continue;
      const auto& column = chunk[kOrders[step.variant / kFlips][i]];
      for (size_t c = 0; c < bias.size(); ++c)
        bias[c] = static_cast<s32>(static_cast<u32>(bias[c]) + static_cast<u32>(255 * column[c]));
    }
  }

  // [pair of bytes][channel][2]
  void append_word(size_t block, size_t chunk) {
    const Columns& columns = layer_.columns[block * layer_.chunks + chunk];
    std::array<s16, kLanes * kChunk> words;
    for (size_t i = 0; i < kChunk; ++i) {
      for (size_t c = 0; c < kLanes; ++c) words[(i / 2 * kLanes + c) * 2 + i % 2] = columns[i][c];
    }
    packed_.pair_positions.push_back(
        static_cast<s32>(first_word_ + 2 * static_cast<s64>(chunk * kChunk)));
    append_bytes(words.data(), sizeof(words));
  }

  void append_bytes(const void* data, size_t size) {
    const u8* bytes = static_cast<const u8*>(data);
    packed_.weights.insert(packed_.weights.end(), bytes, bytes + size);
  }

  const Layer& layer_;
  s64 first_word_;  // position
  PackedConv& packed_;
};

// Of each block, where that may pay and every offset is a position.
std::vector<std::vector<PairStep>> in_place_steps(const Layer& layer,
                                                  const std::vector<s64>& offsets) {
  constexpr size_t kMostBlocks = 8;
  const bool near = std::ranges::all_of(
      offsets, [](s64 offset) { return std::abs(offset) < std::numeric_limits<s32>::max() / 2; });
  std::vector<std::vector<PairStep>> steps;
  if (layer.blocks > kMostBlocks || !near) return steps;
  std::vector<u32> pairings(layer.chunks);
  for (size_t first = 0; first < layer.exact.size(); first += layer.chunks) {
    for (size_t k = 0; k < layer.chunks; ++k) {
      const Variants plain = layer.exact[first + k] & 0x111;  // nothing inverted
      pairings[k] =
          plain != 0 ? static_cast<u32>(static_cast<size_t>(std::countr_zero(plain)) / kFlips) : 0;
    }
    steps.push_back(steps_in_place(offsets, layer.columns.data() + first, pairings));
  }
  return steps;
}

f64 in_place_cycles(const std::vector<std::vector<PairStep>>& blocks) {
  size_t steps = 0;
  for (const std::vector<PairStep>& block : blocks) steps += block.size();
  return static_cast<f64>(steps) * kStepCycles;
}

// Of a single group: those of many grow together.
void reserve(const std::vector<PairSteps>& blocks, PackedConv& packed) {
  if (!packed.weights.empty()) return;
  size_t steps = 0, words = 0;
  for (const PairSteps& block : blocks) {
    steps += block.doubles.size() + block.singles.size() + block.swapped[0].size() +
             block.swapped[1].size();
    words += block.words.size();
  }
  packed.pair_positions.reserve(steps + words);
  packed.weights.reserve((steps + 2 * words) * sizeof(Step));
}

}  // namespace

s64 pair_row_bytes(s64 chunks) {
  return row_pitch(variant_bytes(static_cast<size_t>(chunks)) * (kPairVariants + 2));
}

void append_pairs(const ConvWeights& weights, const ConvChunks& chunks, ChannelRange channels,
                  PackedConv& packed, std::span<s32> bias) {
  const Layer layer(weights, chunks, channels);
  const std::vector<ConvRun> runs = runs_of(chunks.offsets);
  const Choice choice = Chooser(layer, runs).best();
  const std::vector<std::vector<PairStep>> in_place = in_place_steps(layer, chunks.offsets);
  std::vector<PairSteps> blocks;
  ConvPairRows rows{};
  if (!in_place.empty() && in_place_cycles(in_place) < choice.cycles) {
    for (const std::vector<PairStep>& steps : in_place) blocks.push_back(sorted(steps));
  } else {
    rows = rows_of(choice, runs, layer.chunks);
    const RowSteps steps(layer, choice.variants);
    for (size_t block = 0; block < layer.blocks; ++block) blocks.push_back(steps.of(block));
  }

  rows.first_run = static_cast<s64>(packed.pair_runs.size());
  packed.pair_runs.insert(packed.pair_runs.end(), runs.begin(), runs.end());
  packed.pair_rows.push_back(rows);
  reserve(blocks, packed);
  BlockWriter writer(layer, rows.variants * rows.bytes, packed);
  for (size_t block = 0; block < layer.blocks; ++block) {
    const size_t first = block * kLanes;
    writer.append(blocks[block], block, bias.subspan(first, std::min(kLanes, bias.size() - first)));
  }
}

}  // namespace octet
