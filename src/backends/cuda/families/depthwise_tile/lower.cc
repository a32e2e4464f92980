// SPDX-License-Identifier: Apache-2.0
// QConv where each channel of the result reads one channel alone and no other does, by tiles in shared memory.
#include <algorithm>
#include <numeric>

#include "backends/cuda/families/depthwise_tile/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

using depthwise_tile::Spec;

constexpr s64 kWord = depthwise_tile::kWord, kLanes = depthwise_tile::kLanes;

// Outputs of a tile share pixels: they lie so far apart along an axis, and so many taps.
s64 apart(const WindowAxis& axis) {
  return std::min(axis.dilation / std::gcd(axis.dilation, axis.stride), axis.out);
}
s64 taps_apart(const WindowAxis& axis) {
  return axis.stride / std::gcd(axis.dilation, axis.stride);
}

std::string reject(const ConvRequest& conv) {
  if (conv.cin() != 1) return "a channel of the result reads several";
  if (conv.cout() != 1) return "several channels of the result read one";
  if (taps_apart(conv.h()) >= conv.h().kernel || taps_apart(conv.w()) >= conv.w().kernel)
    return "its windows share no pixels";
  constexpr s64 kFarthest = s64{1} << 30;
  if (std::max(conv.h().kernel * conv.h().dilation, conv.w().kernel * conv.w().dilation) >
      kFarthest)
    return "its taps lie far apart";
  const s64 words = conv.h().kernel * ceil_div(conv.w().kernel, kWord);
  return words > depthwise_tile::kMostTapWords ? "registers do not hold its taps" : "";
}

// What does not depend on where values lie, nor on the tile.
Spec without_tile(const ConvRequest& conv) {
  return {.window = conv_window(conv),
          .at = {},
          .end = epilogue_spec(conv.product),
          .images = field_of(conv.geometry.batch),
          .channels = field_of(conv.geometry.out_channels),
          .x_access = 1,
          .y_access = 1,
          .rows = 1,
          .columns = 1,
          .warps = 1,
          .apart_h = field_of(apart(conv.h())),
          .apart_w = field_of(apart(conv.w())),
          .move_h = field_of(taps_apart(conv.h())),
          .move_w = field_of(taps_apart(conv.w()))};
}

// Params::weights.
std::vector<std::byte> packed(const ConvRequest& conv, const Spec& spec) {
  const s64 channels = slices(spec) * kLanes, taps_h = conv.h().kernel, taps_w = conv.w().kernel;
  const std::span<const s8> weights = conv.weights.as<s8>();
  std::vector<std::byte> bytes(static_cast<size_t>(taps_h * tap_words(spec) * channels * kWord));
  for (s64 i = 0; i < std::ssize(weights); ++i) {
    const s64 c = i / (taps_h * taps_w), r = i / taps_w % taps_h, tap = i % taps_w;
    const s64 word = tap_word(spec, field_of(r), field_of(tap / kWord)) * channels + c;
    bytes[static_cast<size_t>(word * kWord + tap % kWord)] =
        static_cast<std::byte>(weights[static_cast<size_t>(i)]);
  }
  return bytes;
}

// Of a lane: sums of the rows that one row of pixels belongs to, taps, pixels and what is made of them.
s64 registers_of(const Spec& s) {
  constexpr s64 kOthers = 36;
  const s64 rows = std::min(s.rows, ceil_div_s32(s.window.taps_h, s.move_h));
  return rows * s.columns + s.window.taps_h * tap_words(s) + words(s) + kOthers;
}
constexpr s64 kMostRegisters = 200;

// A multiprocessor's blocks multiply one after another, beside each other they wait for their tiles; or bytes take longer than both.
f64 cost(const ConvRequest& conv, const Spec& s, const Chip& chip) {
  const Costs& costs = chip.costs();
  // Instructions of four ends, and of a word that comes.
  constexpr f64 kRegisters = 65536, kEnd = 60, kItem = 36, kItemsAtOnce = 2;
  const f64 warp = kLanes / costs.rate_multiply_f32;  // cycles of an instruction
  const f64 dots = static_cast<f64>(s.rows) * s.columns * s.window.taps_h * tap_words(s);
  const f64 others =
      own_rows(s) * (words(s) + pixels(s)) + s.rows * ceil_div_s32(s.columns, 4) * kEnd;
  const f64 multiplying = dots * kLanes * kWord / costs.rate_dot_s8;
  const f64 items = static_cast<f64>(in_rows(s)) * words(s) * kLanes / kWord;
  const f64 block =
      s.warps * std::max(multiplying, (dots + others) * warp) + items / kLanes * kItem * warp;
  const f64 resident = std::max(
      1.0, std::min({std::floor(kRegisters / static_cast<f64>(registers_of(s) * threads(s))),
                     std::floor(static_cast<f64>(chip.shared_bytes_per_block) /
                                static_cast<f64>(shared_bytes(s) + 1024)),
                     32.0}));
  const f64 each = static_cast<f64>(ceil_div(blocks(s), s64{chip.multiprocessors}));
  // Of few warps none hides what another one waits for, and four units have one each.
  const f64 together = std::min(each, resident) * s.warps;
  const f64 busy = each * block * std::max(1.0, 6 / together);
  const f64 waits = std::ceil(each / resident) * std::ceil(items / threads(s) / kItemsAtOnce) *
                    costs.conv_direct_latency;
  return std::max(bytes_cost(conv_bytes(conv), chip), costs.kernel_start + busy + waits);
}

// Whether registers, shared memory (for two blocks) and a kernel's code hold the tile.
bool fits(const Spec& spec, const Chip& chip) {
  constexpr s32 kMostMultiplications = 3200;
  return spec.rows * spec.columns * spec.window.taps_h * tap_words(spec) <= kMostMultiplications &&
         registers_of(spec) <= kMostRegisters &&
         shared_bytes(spec) <= chip.shared_bytes_per_block / 2;
}

// So many parts of a length as leave little over.
std::vector<s64> parts_of(s64 length, s64 fewest, s64 most) {
  std::vector<s64> all;
  for (s64 part = std::min(length, most); part >= std::min(length, fewest); --part) {
    if (ceil_div(length, ceil_div(length, part)) == part) all.push_back(part);
  }
  return all;
}

// The best first.
std::vector<Spec> tiles_of(const ConvRequest& conv, const Chip& chip) {
  const s64 height = ceil_div(conv.h().out, apart(conv.h()));
  Spec spec = without_tile(conv);
  std::vector<Spec> all;
  const auto add_heights = [&] {
    for (const s64 rows : parts_of(ceil_div(height, s64{spec.warps}), 1, 16)) {
      spec.rows = field_of(rows);
      if (fits(spec, chip)) all.push_back(spec);
    }
  };
  for (const s64 columns : parts_of(ceil_div(conv.w().out, apart(conv.w())), 4, 16)) {
    spec.columns = field_of(columns);
    for (const s32 warps : {1, 2, 3, 4, 8}) {
      spec.warps = warps;
      add_heights();
    }
  }
  std::ranges::stable_sort(all, {}, [&](const Spec& each) { return cost(conv, each, chip); });
  return all;
}

Launch make_launch(const ConvRequest& conv, Spec spec, const BindArgs& bind) {
  spec.at = conv_operands(conv, bind);
  spec.end.t_fits = conv.sums_fit();
  ConvRequest whole = conv;  // accesses go over the channels of all groups
  whole.geometry.groups = 1;
  spec.x_access = field_of(input_access(whole, bind, kWord));
  spec.y_access = output_access(whole, bind, kWord) == kWord ? 4 : 1;
  return {.source = source_of("depthwise_tile", spec),
          .shape = {.blocks = blocks(spec),
                    .threads = threads(spec),
                    .shared_bytes = shared_bytes(spec),
                    .programmatic_dependent = true}};
}

Candidate candidate_for(const LowerRequest& request, const ConvRequest& conv, const Spec& spec) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = conv_candidate(
      request, fmt::format("depthwise_tile_{}x{}x{}", spec.warps, spec.rows, spec.columns),
      Layout::nhwc);
  candidate.cost = cost(conv, spec, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_dot_s8 * device.chip().multiprocessors;
  set_step(
      candidate, device,
      {.make_launch = [conv, spec](const BindArgs& bind) { return make_launch(conv, spec, bind); },
       .recipes =
           [conv, spec](const BindArgs&) {
             return conv_blobs(conv, {"depthwise_tile", {conv.weights}, [conv, spec] {
                                        return packed(conv, spec);
                                      }});
           }},
      [product = conv.product](const StepData& data) {
        return depthwise_tile::Params{data.input(kProductX), data.blob<u32>(0),
                                      epilogue_params(product, data, 1)};
      });
  return candidate;
}

}  // namespace

Offer lower_depthwise_tile(const LowerRequest& request) {
  ConvRequest conv;
  std::string reason = read_conv(request, conv);
  if (reason.empty()) reason = reject(conv);
  if (!reason.empty()) return Reject{reason};
  std::vector<Spec> tiles = tiles_of(conv, device_of(request).chip());
  if (tiles.empty()) return Reject{"no tile fits the chip"};
  constexpr size_t kMeasured = 3;
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  tiles.resize(std::min(tiles.size(), measured ? kMeasured : 1));
  Candidates candidates;
  for (const Spec& spec : tiles) candidates.push_back(candidate_for(request, conv, spec));
  return candidates;
}

}  // namespace octet::cuda
