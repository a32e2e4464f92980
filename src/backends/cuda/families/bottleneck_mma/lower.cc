// SPDX-License-Identifier: Apache-2.0
// A bottleneck by mma.sync: how many rows a block has at once, and what that takes.
#include <algorithm>

#include "backends/cuda/families/bottleneck_mma/bottleneck_mma.h"
#include "backends/cuda/families/bottleneck_mma/spec.h"
#include "backends/cuda/lower/conv_cost.h"

namespace octet::cuda {
namespace {

using bottleneck::Bottleneck;
using bottleneck_mma::Spec;

constexpr s64 kLoad = 16;  // bytes of x that a thread loads at once

// All but the strip, and where values lie.
Spec without_strip(const Bottleneck& block) {
  Spec spec{};
  set_block(spec, block);
  spec.cin = field_of(block.reduce.cin());
  spec.short_reduce = block.reduce.sums_are_short();
  spec.short_spatial = block.spatial.sums_are_short();
  spec.short_expand = block.expand.sums_are_short();
  spec.short_project = block.projects() && block.project.sums_are_short();
  return spec;
}

// Warps that multiply so many pixels of `pixels` each, as evenly as it can be, and at most as many as have registers for it.
void set_warps(Spec& spec) {
  constexpr s32 kMostOfOne = 16, kMostOfTwo = 12;
  const s32 units = ceil_div_s32(spec.strip * spec.width, unit(spec));
  const s32 turns = ceil_div_s32(units, spec.tiles_m == 1 ? kMostOfOne : kMostOfTwo);
  spec.warps = ceil_div_s32(units, turns);
}

s64 blocks_of(const Spec& spec, const Chip& chip) {
  return std::min<s64>(strips(spec), chip.multiprocessors);
}

// Of a block's products and ends, derived from the rates of other kernels; two reduced rows more where a walk or an image begins.
f64 strip_cycles(const Spec& spec, s32 reduced_rows, const Costs& costs) {
  constexpr s32 kWarpsThatFill = 8;
  constexpr f64 kTile = 64.0 * 64.0;  // products of a pixel
  const f64 chunks = spec.chunks, groups = bottleneck::groups(spec);
  const bool projects = spec.shortcut == bottleneck::Shortcut::projection;
  const auto phase = [&](s32 rows, f64 tiles, f64 ends) {
    const s32 turns = ceil_div_s32(ceil_div_s32(rows * spec.width, unit(spec)), spec.warps);
    const f64 pixels = static_cast<f64>(turns * unit(spec)) *
                       static_cast<f64>(std::max(spec.warps, kWarpsThatFill));
    return pixels * (tiles * kTile / costs.rate_mma_s8 +
                     ends * bottleneck::kChannels / costs.bottleneck_mma_finish_rate);
  };
  return costs.bottleneck_mma_strip + phase(reduced_rows, chunks, 1) +
         phase(spec.strip, 9 + groups * (projects ? 1 + chunks : 1),
               1 + groups * (projects ? 2 : 1));
}

f64 cost_of(const Bottleneck& block, const Spec& spec, const Chip& chip) {
  const Costs& costs = chip.costs();
  const s32 walked = ceil_div_s32(strips(spec), field_of(blocks_of(spec, chip)));
  const s32 fresh = ceil_div_s32(walked, strips_of_image(spec));
  const f64 weights = static_cast<f64>(memory(spec).ring) / costs.tile_cache_rate;
  const f64 busy = weights + fresh * strip_cycles(spec, ring_rows(spec), costs) +
                   (walked - fresh) * strip_cycles(spec, spec.strip, costs);
  const f64 bytes = static_cast<f64>(block.reduce.x.elements() + block.expand.y.elements());
  const f64 moving = bytes_cost(bytes, chip) - costs.kernel_start;
  return costs.kernel_start + std::max(busy, moving) + costs.kernel_apart * std::min(busy, moving);
}

struct CostedStrip {
  Spec spec;
  f64 cost;
};

// The cheapest first.
std::vector<CostedStrip> strips_of(const Bottleneck& block, const Chip& chip) {
  constexpr s32 kMostRows = 16;
  std::vector<CostedStrip> all;
  Spec spec = without_strip(block);
  for (spec.strip = 1; spec.strip <= std::min(kMostRows, spec.height); ++spec.strip) {
    for (spec.tiles_m = 1; spec.tiles_m <= 2; ++spec.tiles_m) {
      set_warps(spec);
      if (memory(spec).all <= chip.shared_bytes_per_block)
        all.push_back({spec, cost_of(block, spec, chip)});
    }
  }
  std::ranges::stable_sort(all, {}, &CostedStrip::cost);
  return all;
}

Launch make_launch(const Bottleneck& block, Spec spec, const Chip& chip, const BindArgs& bind) {
  place_block(spec, block, bind);
  spec.x = block.reduce.input_strides(bind.inputs[0]);
  return {.source = source_of("bottleneck_mma", spec),
          .shape = {.blocks = blocks_of(spec, chip),
                    .threads = threads(spec),
                    .shared_bytes = memory(spec).all,
                    .programmatic_dependent = true}};
}

Candidate candidate_for(const LowerRequest& request, const Bottleneck& block, const Spec& spec) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = conv_candidate(
      request, fmt::format("bottleneck_mma_{}x{}x{}", spec.strip, spec.warps, spec.tiles_m),
      Layout::nhwc);
  candidate.by_image = false;
  candidate.alignment = kLoad;
  candidate.cost = cost_of(block, spec, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_mma_s8 * device.chip().multiprocessors;
  set_step(candidate, device,
           {.make_launch =
                [block, spec, &device](const BindArgs& bind) {
                  return make_launch(block, spec, device.chip(), bind);
                },
            .recipes = [block](const BindArgs&) { return bottleneck::mma_blobs_of(block); }},
           [](const StepData& data) {
             return bottleneck_mma::Params{data.input(0), data.blob<u8>(0), data.blob<f32>(1),
                                           data.blob<s32>(2), data.output()};
           });
  return candidate;
}

}  // namespace

Offer bottleneck_mma::offer(const LowerRequest& request, const Bottleneck& block) {
  const std::vector<CostedStrip> strips = strips_of(block, device_of(request).chip());
  if (strips.empty()) return Reject{"its weights and rows do not fit the chip"};
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  constexpr s64 kMostMeasured = 6;
  Candidates candidates;
  for (const CostedStrip& each : strips) {
    candidates.push_back(candidate_for(request, block, each.spec));
    if (!measured || std::ssize(candidates) == kMostMeasured) break;
  }
  return candidates;
}

}  // namespace octet::cuda
