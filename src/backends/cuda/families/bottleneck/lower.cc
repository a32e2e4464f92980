// SPDX-License-Identifier: Apache-2.0
// A bottleneck by warpgroups of a Hopper, and which of the two families runs one.
#include <algorithm>

#include "backends/cuda/families/bottleneck/bottleneck.h"
#include "backends/cuda/families/bottleneck_mma/bottleneck_mma.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/tensor_map.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

using bottleneck::Bottleneck;
using bottleneck::kChannels;
using bottleneck::WgmmaBottleneck;

constexpr s64 kTmaAlignment = 16;

// The most rows of x in flight that fit; false: not even the fewest do.
bool set_stages(bottleneck::Spec& spec, const Chip& chip) {
  constexpr s32 kMost = 4, kFewest = 2;
  for (spec.stages = kMost; spec.stages >= kFewest; --spec.stages) {
    if (memory(spec).all <= chip.shared_bytes_per_block) return true;
  }
  return false;
}

Launch bottleneck_launch(const WgmmaBottleneck& block, const Chip& chip, const BindArgs& bind) {
  bottleneck::Spec spec = block.spec;
  place_block(spec, block, bind);
  return {.source = source_of("bottleneck", spec),
          .shape = {.blocks = std::min<s64>(spec.rows, chip.multiprocessors),
                    .threads = threads(spec),
                    .shared_bytes = memory(spec).all,
                    .programmatic_dependent = true}};
}

bottleneck::Params bottleneck_params(const WgmmaBottleneck& block, const PixelStrides& x,
                                     const StepData& data) {
  const s64 tile_rows = s64{tiles(block.spec).all} * kChannels;
  const WindowAxis &h = block.reduce.h(), &w = block.reduce.w();
  const ImageMap image{{block.reduce.cin(), w.in, h.in, block.reduce.geometry.batch},
                       {x.pixel, x.row, x.image},
                       kChannels};
  const CudaDevice& device = cuda_queue(data.args).device();
  bottleneck::Params p{};
  p.x = tile_map(device, image, w.in, 1, data.input(0));
  p.weights =
      rows_map(device, {kChannels, tile_rows, kChannels, kChannels, kChannels}, data.blob<u8>(0));
  p.scales = data.blob<f32>(1);
  p.biases = block.spec.bias_added ? data.blob<s32>(2) : nullptr;
  p.out = data.output();
  return p;
}

// Each warpgroup walks its share of the rows, and reduces one more at both ends; those that share a multiprocessor wait for each other. The
// terms are a fit to ResNet-50's, at batches of 1 to 256.
f64 bottleneck_cost(const WgmmaBottleneck& block, const Chip& chip) {
  const Costs& costs = chip.costs();
  const f64 chunks = static_cast<f64>(block.spec.chunks),
            groups = static_cast<f64>(bottleneck::groups(block.spec));
  // Of 64 channels, their bias included.
  const auto end_of = [&](f64 products) {
    return (products + 1) * costs.bottleneck_product + costs.bottleneck_end;
  };
  const f64 reduce = end_of(2 * chunks) + chunks * costs.bottleneck_chunk;
  f64 rest = end_of(2 * 9) + groups * end_of(2);
  if (block.projects()) rest += groups * end_of(2 * chunks);
  const s64 blocks = std::min<s64>(s64{block.spec.rows}, chip.multiprocessors);
  const s64 rows = ceil_div(s64{block.spec.rows}, blocks * block.spec.warpgroups);
  const s64 walks = std::min<s64>(ceil_div(s64{block.spec.rows}, blocks), block.spec.warpgroups);
  const f64 alone = static_cast<f64>(rows) * rest + static_cast<f64>(rows + 2) * reduce;
  const f64 beside = costs.bottleneck_beside * static_cast<f64>(walks - 1);
  const f64 busy = costs.bottleneck_start + alone * (1 + beside);
  const f64 bytes = static_cast<f64>(block.reduce.x.elements() + block.expand.y.elements());
  return std::max(busy, bytes_cost(bytes, chip));
}

Offer offer_by_warpgroups(const LowerRequest& request, const Bottleneck& read) {
  const CudaDevice& device = device_of(request);
  WgmmaBottleneck block{read, {}};
  set_block(block.spec, read);
  block.spec.warpgroups = 3;
  block.spec.bias_added = !biases_have_digits(block);
  if (!set_stages(block.spec, device.chip()))
    return Reject{"its weights and rows do not fit the chip"};
  Candidate candidate = conv_candidate(
      request, fmt::format("bottleneck_{}x{}", block.spec.warpgroups, block.spec.stages),
      Layout::nhwc);
  candidate.by_image = false;
  candidate.alignment = kTmaAlignment;
  candidate.cost = bottleneck_cost(block, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_wgmma_s8 * device.chip().multiprocessors;
  set_placed_step(candidate, device,
                  {.make_launch =
                       [block, &device](const BindArgs& bind) {
                         return bottleneck_launch(block, device.chip(), bind);
                       },
                   .recipes = [block](const BindArgs&) { return bottleneck::blobs_of(block); }},
                  [block](const BindArgs& bind) {
                    const PixelStrides x = block.reduce.input_strides(bind.inputs[0]);
                    return [block, x](const StepData& data) {
                      return bottleneck_params(block, x, data);
                    };
                  });
  return candidate;
}

}  // namespace

Offer offer_bottleneck(const LowerRequest& request) {
  Bottleneck block;
  if (std::string reason = bottleneck::read(request, block); !reason.empty()) return Reject{reason};
  const Chip& chip = device_of(request).chip();
  if (chip.reject_without({Instruction::wgmma, Instruction::tma}).empty())
    return offer_by_warpgroups(request, block);
  return bottleneck_mma::offer(request, block);
}

}  // namespace octet::cuda
