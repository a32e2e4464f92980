// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/conv_pairs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "backends/cpu/kernels/codes/conv/conv_excess.h"
#include "backends/cpu/kernels/codes/conv/conv_pair_chunks.h"

namespace octet {
namespace {

constexpr size_t kAll = kPairings * kPairFlips;
constexpr size_t kChunk = kConvChunk, kLanes = kPairLanes;
// Bytes of a chunk in the order of each pairing.
constexpr std::array<std::array<size_t, kChunk>, kPairings> kOrders = {
    {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}}};

// A way to read a chunk: pairing * kPairFlips + which pairs have their second byte inverted.
using Variant = size_t;
using Variants = u32;  // a bit for each

// Of a chunk: [channel][byte].
using Step = std::array<s8, kPairChunk>;

bool flipped(Variant variant, size_t byte) {
  return byte % 2 != 0 && (variant % kPairFlips >> (byte / 2) & 1) != 0;
}

// All chunks of all blocks, and what is exact for them: [block][chunk].
struct Layer {
  size_t blocks, chunks;
  std::vector<Step> bytes;
  std::vector<u16> exact;

  Layer(const ConvWeights& weights, const ConvChunks& from, ChannelRange channels)
      : blocks(static_cast<size_t>((channels.count + kPairLanes - 1) / kPairLanes)),
        chunks(from.offsets.size()),
        bytes(blocks * chunks),
        exact(blocks * chunks) {
    const WordPacker words(weights, from, Isa::avx2);
    for (size_t block = 0; block < blocks; ++block) {
      const s64 first = static_cast<s64>(block) * kPairLanes;
      words.pack(channels.first + first, std::min(kPairLanes, channels.count - first), kPairLanes,
                 reinterpret_cast<u8*>(of(block)));
    }
    exact_pairs_avx2(of(0), static_cast<s64>(exact.size()), exact.data());
  }

  s8* of(size_t block) { return reinterpret_cast<s8*>(bytes.data() + block * chunks); }

  PairColumns columns(size_t block, size_t chunk) const {
    const Step& step = bytes[block * chunks + chunk];
    PairColumns columns;
    for (size_t i = 0; i < kChunk; ++i) {
      for (size_t c = 0; c < kLanes; ++c) columns[i][c] = step[c * kChunk + i];
    }
    return columns;
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
    for (const u16 exact : layer.exact) {
      if (counts_[exact]++ == 0) met_.push_back(exact);
    }
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
    for (const u16 exact : met_) ((exact & variants) != 0 ? steps : words) += counts_[exact];
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
  std::array<s64, 1 << kAll> counts_{};
  std::vector<u16> met_;  // few where a layer has thousands of small groups
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
      order |= static_cast<u32>(kOrders[v / kPairFlips][i]) << (8 * i);
      flips |= (flipped(v, i) ? 0xffu : 0u) << (8 * i);
    }
    rows.orders[rows.variants] = static_cast<s32>(order);
    rows.flips[rows.variants++] = static_cast<s32>(flips);
  }
  rows.words = choice.words;
  rows.pitch = row_pitch(rows.bytes * (rows.variants + (rows.words ? 2 : 0)));
  return rows;
}

// Writes blocks of steps behind one another.
class BlockWriter {
 public:
  // first_word: the position of the words of prepared rows.
  BlockWriter(const Layer& layer, s64 first_word, PackedConv& packed)
      : layer_(layer), first_word_(first_word), packed_(packed) {}

  // Steps that read prepared rows of `variants`.
  void append(size_t block, Variants variants, std::span<s32> bias) {
    choose(block, variants, bias);
    begin();
    steps_.clear();
    positions_.clear();
    words_.clear();
    const s64 row_bytes = variant_bytes(layer_.chunks);
    for (size_t k = 0; k < layer_.chunks; ++k) {
      if (chosen_[k] == kNoVariant) {
        words_.push_back(k);
        continue;
      }
      const s64 row = std::popcount(variants & ((1u << chosen_[k]) - 1));
      positions_.push_back(static_cast<s32>(row * row_bytes + static_cast<s64>(k * kChunk)));
      steps_.push_back(ordered_[k]);
    }
    append_matched();
    for (const size_t chunk : words_) append_word(block, chunk);
    packed_.pair_blocks.back().words = static_cast<s64>(words_.size());
  }

  // Steps that read the window in place.
  void append(const std::vector<PairStep>& in_place) {
    begin();
    for (u32 pairing = 0; pairing < kPairings; ++pairing) {
      steps_.clear();
      positions_.clear();
      for (const PairStep& step : in_place) {
        if (step.pairing != pairing) continue;
        steps_.push_back(in_order(step.weights, pairing));
        positions_.push_back(static_cast<s32>(step.offset));
      }
      if (pairing == 0) {
        append_matched();
        continue;
      }
      for (size_t i = 0; i < steps_.size(); ++i) append_step(i);
      packed_.pair_blocks.back().swapped[pairing - 1] = static_cast<s64>(steps_.size());
    }
  }

 private:
  static Step in_order(const PairColumns& chunk, size_t pairing) {
    Step step;
    for (size_t i = 0; i < kChunk; ++i) {
      for (size_t c = 0; c < kLanes; ++c)
        step[c * kChunk + i] = static_cast<s8>(chunk[kOrders[pairing][i]][c]);
    }
    return step;
  }

  void choose(size_t block, Variants variants, std::span<s32> bias) {
    const size_t chunks = layer_.chunks;
    chosen_.resize(chunks);
    ordered_.resize(chunks);
    std::array<s32, kLanes> flipped{};
    choose_pairs_avx2({layer_.bytes[block * chunks].data(), layer_.exact.data() + block * chunks,
                       static_cast<s64>(chunks), static_cast<u16>(variants), chosen_.data(),
                       ordered_[0].data(), flipped.data()});
    for (size_t c = 0; c < bias.size(); ++c)
      bias[c] = static_cast<s32>(static_cast<u32>(bias[c]) + static_cast<u32>(flipped[c]));
  }

  void begin() {
    const auto positions = static_cast<s64>(packed_.pair_positions.size());
    const auto weights = static_cast<s64>(packed_.weights.size());
    packed_.pair_blocks.push_back({positions, weights, 0, 0, {0, 0}, 0});
  }

  void append_matched() {
    const size_t count = steps_.size();
    if (count == 0) return;
    order_.resize(count);
    next_.resize(count);
    sums_.resize(count);
    const s64 doubles = match_pairs_avx2(
        {steps_[0].data(), static_cast<s64>(count), sums_[0].data(), next_.data(), order_.data()});
    packed_.pair_blocks.back().doubles = doubles;
    packed_.pair_blocks.back().singles = static_cast<s64>(count) - 2 * doubles;
    for (const s32 i : order_) append_step(static_cast<size_t>(i));
  }

  void append_step(size_t i) {
    packed_.pair_positions.push_back(positions_[i]);
    append_bytes(steps_[i].data(), steps_[i].size());
  }

  // [pair of bytes][channel][2]
  void append_word(size_t block, size_t chunk) {
    const PairColumns columns = layer_.columns(block, chunk);
    std::array<s16, kPairChunk> words;
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
  s64 first_word_;
  PackedConv& packed_;
  // Of the block at hand.
  std::vector<u8> chosen_;
  std::vector<Step> ordered_, steps_;
  std::vector<s32> positions_;
  std::vector<size_t> words_;
  std::vector<std::array<u8, kPairChunk>> sums_;
  std::vector<s32> next_, order_;
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
  std::vector<PairColumns> columns(layer.chunks);
  for (size_t block = 0; block < layer.blocks; ++block) {
    for (size_t k = 0; k < layer.chunks; ++k) {
      columns[k] = layer.columns(block, k);
      const Variants plain = layer.exact[block * layer.chunks + k] & 0x111u;  // nothing inverted
      pairings[k] =
          plain != 0 ? static_cast<u32>(static_cast<size_t>(std::countr_zero(plain)) / kPairFlips)
                     : 0;
    }
    steps.push_back(steps_in_place(offsets, columns.data(), pairings));
  }
  return steps;
}

f64 in_place_cycles(const std::vector<std::vector<PairStep>>& blocks) {
  size_t steps = 0;
  for (const std::vector<PairStep>& block : blocks) steps += block.size();
  return static_cast<f64>(steps) * kStepCycles;
}

// Of a single group: those of many grow together.
void reserve(size_t steps, PackedConv& packed) {
  if (!packed.weights.empty()) return;
  packed.pair_positions.reserve(steps);
  packed.weights.reserve(steps * sizeof(Step));
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
  const bool lies = !in_place.empty() && in_place_cycles(in_place) < choice.cycles;
  ConvPairRows rows = lies ? ConvPairRows{} : rows_of(choice, runs, layer.chunks);
  rows.first_run = static_cast<s64>(packed.pair_runs.size());
  packed.pair_runs.insert(packed.pair_runs.end(), runs.begin(), runs.end());
  packed.pair_rows.push_back(rows);
  reserve(layer.exact.size(), packed);
  BlockWriter writer(layer, rows.variants * rows.bytes, packed);
  for (size_t block = 0; block < layer.blocks; ++block) {
    const size_t first = block * kLanes;
    if (lies) {
      writer.append(in_place[block]);
    } else {
      writer.append(block, choice.variants,
                    bias.subspan(first, std::min(kLanes, bias.size() - first)));
    }
  }
}

}  // namespace octet
