// SPDX-License-Identifier: Apache-2.0
// QConv by mma.sync. Any geometry, on any GPU.
#include <algorithm>
#include <optional>

#include "backends/cuda/families/conv_mma/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

using conv_mma::Spec;

// So many that two blocks share a multiprocessor, each of which hides what the other waits for. Where copies come at once there is nothing to be ahead of.
s32 stages_of(const Spec& spec, const Chip& chip) {
  constexpr s32 kMost = 4, kFewest = 2;
  Spec asked = spec;
  if (!chip.has(Instruction::cp_async)) return kFewest;
  for (asked.stages = kMost; asked.stages > kFewest; --asked.stages) {
    if (2 * (shared_bytes(asked) + chip.reserved_shared_bytes) <= chip.shared_bytes) break;
  }
  return asked.stages;
}

// What does not depend on where values lie. Columns as the channels need them; rows so that the chip's multiprocessors all have a block.
Spec choose_tile(const ConvRequest& conv, const Chip& chip) {
  const s64 cout = conv.cout();
  Spec spec{.window = conv_window(conv),
            .at = {},
            .end = epilogue_spec(conv.product),
            .short_sums = false,
            .x_access = 1,
            .y_access = 1,
            .warps_m = 4,
            .warps_n = cout > 64 ? 2 : 1,
            .tiles_m = 2,
            .tiles_n = cout <= 16   ? 2
                       : cout <= 32 ? 4
                                    : 8,
            .bk = 64,
            .stages = 2};
  if (blocks(spec) < 2 * chip.multiprocessors) spec.tiles_m = 1;
  if (blocks(spec) < chip.multiprocessors) spec.warps_m = 2;
  if (blocks(spec) < chip.multiprocessors) spec.warps_n = 1;
  spec.stages = stages_of(spec, chip);
  return spec;
}

// The same tile by half as many warps, each of 32 pixels in place of 16: weights are read from shared memory half as often. Four warps at the least.
std::optional<Spec> taller(Spec spec, const Chip& chip) {
  constexpr s32 kFewestThreads = 128;
  if (spec.tiles_m != 1) return std::nullopt;
  spec.warps_m /= 2, spec.tiles_m = 2;
  if (threads(spec) < kFewestThreads) return std::nullopt;
  spec.stages = stages_of(spec, chip);
  return spec;
}

// Params::weights; k goes over taps, then channels.
std::vector<std::byte> packed(const ConvRequest& conv, const Spec& spec) {
  const s64 cout = conv.cout(), k_all = conv.k(), bk = spec.bk;
  const s64 k_tiles = conv_mma::k_tiles(spec), n_tiles = conv_mma::n_tiles(spec),
            bn = conv_mma::bn(spec);
  std::vector<std::byte> bytes(
      static_cast<size_t>(conv.geometry.groups * n_tiles * k_tiles * bn * bk));
  for (s64 row = 0; row < conv.geometry.groups * n_tiles * bn; ++row) {
    const s64 column_tile = row / bn, in_tile = row % bn;
    const s64 group = column_tile / n_tiles;
    const s64 c = column_tile % n_tiles * bn +
                  conv_mma::channel_of_row(static_cast<s32>(in_tile), spec.tiles_n);
    if (c >= cout) continue;
    for (s64 k = 0; k < k_all; ++k) {
      const s64 to = ((column_tile * k_tiles + k / bk) * bn + in_tile) * bk;
      bytes[static_cast<size_t>(to + k % bk)] =
          static_cast<std::byte>(conv.weight(group * cout + c, k));
    }
  }
  return bytes;
}

Launch make_launch(const ConvRequest& conv, Spec spec, const BindArgs& bind) {
  constexpr s64 kWidest = 16;
  spec.at = conv_operands(conv, bind);
  spec.end.t_fits = conv.sums_fit(), spec.short_sums = conv.sums_are_short();
  spec.x_access = field_of(input_access(conv, bind, kWidest));
  spec.y_access = field_of(output_access(conv, bind, std::min<s64>(kWidest, 2 * spec.tiles_n)));
  return {.source = source_of("conv_mma", spec),
          .shape = {.blocks = blocks(spec),
                    .threads = threads(spec),
                    .shared_bytes = shared_bytes(spec),
                    .programmatic_dependent = true}};
}

BlobRecipe packing(const ConvRequest& conv, const Spec& spec) {
  return {fmt::format("conv_mma {}x{}x{} {} of {}, {} {} {}", bn(spec), spec.tiles_n, spec.bk,
                      conv.geometry.groups, conv.cin(), conv.strides.channel, conv.strides.cin,
                      conv.strides.tap),
          conv.sources.empty() ? std::vector{conv.weights} : conv.sources,
          [conv, spec] { return packed(conv, spec); }};
}

// `longer`: how much longer products take than in the usual tile.
f64 cost(const ConvRequest& conv, const Spec& spec, const Chip& chip, f64 longer) {
  const Costs& costs = chip.costs();
  TileWork work;
  work.tiles = blocks(spec);
  const f64 k = static_cast<f64>(k_tiles(spec)) * spec.bk;
  const f64 bm = conv_mma::bm(spec), bn = conv_mma::bn(spec);
  work.multiply_cycles = bm * bn * k / costs.rate_mma_s8 * longer;
  // Several blocks hide what each of them waits for.
  if (work.tiles <= chip.multiprocessors) work.multiply_cycles += costs.tile_begin;
  // Of channels of a narrow group whole sectors of the cache come.
  constexpr s64 kSector = 32;
  const s64 row = std::min(conv.geometry.in_channels, std::max(conv.cin(), kSector));
  const f64 sectors = static_cast<f64>(row) / static_cast<f64>(conv.cin());
  work.load_bytes = (bm * sectors + bn) * k;
  // Few bytes at a time take as many instructions; what fills k up is not loaded.
  work.load_cycles =
      bm * static_cast<f64>(conv.k()) / static_cast<f64>(common_power(16, {conv.cin()}));
  work.finish_cycles = bm * bn / costs.conv_mma_finish_rate;
  return tile_cost(work, conv_bytes(conv), chip);
}

Candidate candidate_for(const LowerRequest& request, const ConvRequest& conv, const Spec& spec,
                        Layout layout, f64 longer) {
  const CudaDevice& device = device_of(request);
  Candidate candidate =
      conv_candidate(request, fmt::format("conv_mma_{}x{}", bm(spec), bn(spec)), layout);
  candidate.cost = cost(conv, spec, device.chip(), longer);
  candidate.macs_per_cycle = device.chip().costs().rate_mma_s8 * device.chip().multiprocessors;
  set_step(
      candidate, device,
      {.make_launch = [conv, spec](const BindArgs& bind) { return make_launch(conv, spec, bind); },
       .recipes = [conv, spec](const BindArgs&) { return conv_blobs(conv, packing(conv, spec)); }},
      [product = conv.product](const StepData& data) {
        return conv_mma::Params{data.input(kProductX), data.blob<s8>(0),
                                epilogue_params(product, data, 1)};
      });
  return candidate;
}

}  // namespace

Candidates conv_mma_candidates(const LowerRequest& request, const ConvRequest& conv,
                               Layout layout) {
  const Chip& chip = device_of(request).chip();
  const Spec usual = choose_tile(conv, chip);
  Candidates all{candidate_for(request, conv, usual, layout, 1)};
  // A Hopper's warpgroups take what would gain.
  const std::optional<Spec> other =
      chip.has(Instruction::wgmma) ? std::nullopt : taller(usual, chip);
  if (!other) return all;
  all.push_back(candidate_for(request, conv, *other, layout, chip.costs().conv_mma_tall));
  all.back().kernel += "_tall";
  if (request.target.keep_others || request.target.tuning != nullptr) return all;
  return {all[all[1].cost < all[0].cost ? 1 : 0]};
}

Offer lower_conv_mma(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_conv(request, conv); !reason.empty()) return Reject{reason};
  return conv_mma_candidates(request, conv, Layout::nhwc);
}

}  // namespace octet::cuda
