// SPDX-License-Identifier: Apache-2.0
// Conv and MatMul of 16-bit floats by constant weights, by warpgroups of a Hopper.
#include <algorithm>

#include "backends/cuda/families/product_wgmma/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/float_product.h"
#include "backends/cuda/lower/window_tiles.h"

namespace octet::cuda {
namespace {

using product_wgmma::Spec;

bool is_half(Number type) { return type == Number::f16 || type == Number::bf16; }

std::string reject(const FloatProduct& product, const Chip& chip) {
  if (std::string reason = chip.reject_without({Instruction::wgmma, Instruction::tma});
      !reason.empty())
    return reason;
  if (product.dequantized || !is_half(product.x_type)) return "x is not stored in 16 bits";
  if (product.x_type == Number::f16 && !product.facts.f16) return "a weight is not f16";
  if (product.x_type == Number::bf16 && !product.facts.bf16) return "a weight is not bf16";
  return reject_window(product.geometry, bytes_of(product.x_type));
}

bool fits_registers(const FloatProduct& product, const WindowTile& tile) {
  constexpr s32 kMost = 128, kMostOfTwo = 64;
  const s32 sums = product_wgmma::sums(tile);
  if (!product.has_residual || tile.residuals > 0)
    return sums <= (tile.blocks > 1 ? kMostOfTwo : kMost);
  const s32 groups = tile.bn / tile.group;
  return product_wgmma::groups_ahead(tile, product.residual_type) >= std::min(groups, 2);
}

f64 bytes_moved(const FloatProduct& product, const RealEnd& end) {
  const f64 y = static_cast<f64>(product.y.elements());
  f64 bytes =
      static_cast<f64>(product.x.elements() + product.weight_count()) * bytes_of(product.x_type);
  bytes += y * bytes_of(end.y);
  if (product.has_residual) bytes += y * bytes_of(end.residual_type);
  return bytes;
}

// Of a residual that the accelerator can bring, if it lies so: rows of groups of columns (lower/window_tiles.cc) have 32 bytes or more.
s32 bytes_of_residual(const RealEnd& end) {
  return end.residual && end.residual_type != Number::f32 && end.y != Number::f32
             ? bytes_of(end.residual_type)
             : 0;
}

Spec without_tile(const FloatProduct& product) {
  ConvWindow window = float_window(product);
  window.pixels = field_of(product.pixels());
  const RealEnd end = real_end(product);
  return {.main = {.window = window,
                   .number_bytes = bytes_of(product.x_type),
                   .w_terms = 0,
                   .residual_bytes = bytes_of_residual(end),
                   .tile = {}},
          .at = {},
          .end = end,
          .f16 = product.x_type == Number::f16,
          .late_bias = product.has_bias && !product.bias,
          .y_access = 1};
}

// Params::weights.
std::vector<std::byte> packed(const FloatProduct& product, const Spec& spec) {
  const WindowTile& tile = spec.main.tile;
  const s64 chunk = s64{chunks(spec.main)} * tile.k_bytes / spec.main.number_bytes,
            row_words = taps(spec.main) * chunk, cin = product.cin();
  const s32 rows = padded_channels(spec.main);
  std::vector<u16> words(static_cast<size_t>(rows * row_words));
  for (s32 row = 0; row < rows; ++row) {
    const s32 c = row - row % tile.group + channel_of_row(row % tile.group, tile);
    if (c >= product.cout()) continue;
    for (s64 k = 0; k < cin * taps(spec.main); ++k) {
      const f32 weight = product.weight(c, k);
      words[static_cast<size_t>(row * row_words + k / cin * chunk + k % cin)] =
          spec.f16 ? octet::f16(weight).bits : octet::bf16(weight).bits;
    }
  }
  return bytes_of(std::span<const u16>(words));
}

// The tile was chosen for a residual whose pixels lie one after another; of any other threads load their own.
Spec placed(const FloatProduct& product, Spec spec, const BindArgs& bind) {
  if (!product.has_residual) return spec;
  const ConvWindow& window = spec.main.window;
  const size_t input = product.residual_input;
  const s64 channels = product.geometry.out_channels, bytes = spec.main.residual_bytes;
  spec.at.residual = product.strides(product.y, channels, bind.inputs[input]);
  const PixelStrides& by = spec.at.residual;
  const bool in_order =
      product.rows ||
      ((window.out_h == 1 || by.row == window.out_w * by.pixel) &&
       (product.geometry.batch == 1 || by.image == s64{window.out_h} * window.out_w * by.pixel));
  const bool aligned =
      by.pixel * bytes % kTmaAlignment == 0 && bind.input_offset(input) % kTmaAlignment == 0;
  if (!in_order || !aligned) spec.main.tile.residuals = 0;
  return spec;
}

Launch make_launch(const FloatProduct& product, const Spec& chosen, const Chip& chip,
                   const BindArgs& bind) {
  Spec spec = placed(product, chosen, bind);
  const s64 channels = product.geometry.out_channels;
  const s64 y_bytes = bytes_of(spec.end.y), residual_bytes = bytes_of(spec.end.residual_type);
  spec.at.y = product.strides(product.y, channels, bind.outputs[0]);
  constexpr s64 kWidest = 16;
  s64 most = std::min<s64>(kWidest / y_bytes, own_channels(spec.main.tile));
  most = pixel_access(most, channels, spec.at.y, bind.output_offset(0) / y_bytes);
  if (product.has_residual) {
    const size_t input = product.residual_input;
    most =
        pixel_access(most, channels, spec.at.residual, bind.input_offset(input) / residual_bytes);
  }
  spec.y_access = field_of(most);
  const s64 blocks = tiled_blocks(spec.main, chip);
  spec.main.tile.rolled = is_rolled(spec.main, blocks);
  return {.source = source_of("product_wgmma", spec),
          .shape = {.blocks = blocks,
                    .threads = threads(spec.main),
                    .shared_bytes = product_wgmma::memory(spec.main).all,
                    .programmatic_dependent = true}};
}

std::vector<BlobRecipe> blobs(const FloatProduct& product, const Spec& spec) {
  const WindowTile& tile = spec.main.tile;
  std::vector<BlobRecipe> all;
  all.push_back({fmt::format("product_wgmma {}x{} by {} {} {} {}", tile.bn, tile.k_bytes,
                             tile.group, spec.f16, product.rows, product.weights_form),
                 {product.weights},
                 [product, spec] { return packed(product.with_weights(), spec); }});
  if (product.bias) all.push_back(constant_blob(product.bias));
  return all;
}

product_wgmma::Params parameters(const FloatProduct& product, const Spec& spec,
                                 const PixelStrides& x, const StepData& data) {
  const WindowTile& tile = spec.main.tile;
  const CudaDevice& device = cuda_queue(data.args).device();
  const s64 k = s64{pieces(spec.main)} * tile.k_bytes;
  const s64 channels = product.geometry.out_channels, bytes = spec.main.residual_bytes;
  return {.x = tiled_x_map(spec.main, product.geometry, x, device, data.input(product.x_input)),
          .weights = rows_map(device, {k, padded_channels(spec.main), k, tile.k_bytes, tile.bn},
                              data.blob<u16>(0)),
          .residual = tile.residuals > 0 ? rows_map(device,
                                                    {channels * bytes, spec.main.window.pixels,
                                                     spec.at.residual.pixel * bytes,
                                                     residual_row(spec.main), bm(tile)},
                                                    data.input(product.residual_input))
                                         : TensorMap{},
          .end = real_end_params(product, data, 1)};
}

TileChoice choice_of(const FloatProduct& product, const Spec& spec, const Costs& costs) {
  return {.main = spec.main,
          .geometry = product.geometry,
          .bytes = bytes_moved(product, spec.end),
          .finish_rate = costs.product_wgmma_finish_rate,
          .residual_cycles = product.has_residual ? costs.product_wgmma_residual : 0.0,
          .y_bytes = bytes_of(spec.end.y),
          .memory = product_wgmma::memory,
          .fits = [&product](const WindowTile& tile) { return fits_registers(product, tile); }};
}

Candidate candidate_for(const LowerRequest& request, const FloatProduct& product, const Spec& spec,
                        f64 cost) {
  const CudaDevice& device = device_of(request);
  const bool image = !product.rows;
  Candidate candidate =
      candidate_of(request,
                   fmt::format("{}_{}_wgmma_{}", product.rows ? "matmul" : "conv",
                               spec.f16 ? "f16" : "bf16", tile_name(spec.main.tile)),
                   image ? Layout::nhwc : Layout::linear);
  candidate.strided = candidate.writes_slices = image;
  candidate.alignment = kTmaAlignment;
  candidate.close = true;
  candidate.cost = cost;
  candidate.macs_per_cycle =
      device.chip().costs().rate_wgmma_s8 / spec.main.number_bytes * device.chip().multiprocessors;
  set_placed_step(
      candidate, device,
      {.make_launch =
           [product, spec, &device](const BindArgs& bind) {
             return make_launch(product, spec, device.chip(), bind);
           },
       .recipes = [product, spec](const BindArgs&) { return blobs(product, spec); }},
      [product, chosen = spec](const BindArgs& bind) {
        const Spec bound = placed(product, chosen, bind);
        const size_t input = product.x_input;
        const PixelStrides x =
            in_bytes(product.strides(product.x, product.geometry.in_channels, bind.inputs[input]),
                     bound.main.number_bytes);
        return [product, bound, x](const StepData& data) {
          return parameters(product, bound, x, data);
        };
      });
  return candidate;
}

}  // namespace

Offer product_wgmma_offer(const LowerRequest& request, const FloatProduct& product) {
  const Chip& chip = device_of(request).chip();
  if (std::string reason = reject(product, chip); !reason.empty()) return Reject{reason};
  Spec spec = without_tile(product);
  std::vector<CostedTile> tiles = window_tiles(choice_of(product, spec, chip.costs()), chip);
  // Of tiles that cost the same, with a function at their end: 128x128 took 115 us where 64x256 took 127 (Gelu of 12288 x 3072 on an H200).
  if (product.function.kind != EndFunction::none)
    std::ranges::stable_sort(tiles, {},
                             [](const CostedTile& t) { return std::pair(t.cost, -t.tile.bm_wg); });
  if (tiles.empty()) return Reject{"no tile fits the chip"};
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  Candidates candidates;
  for (const CostedTile& each : tiles) {
    spec.main.tile = each.tile;
    candidates.push_back(candidate_for(request, product, spec, each.cost));
    if (!measured) break;  // the cheapest
  }
  return candidates;
}

}  // namespace octet::cuda
