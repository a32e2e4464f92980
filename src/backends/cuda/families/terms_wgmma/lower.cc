// SPDX-License-Identifier: Apache-2.0
// Conv and MatMul of f32, or of codes that a layer reads as f32, by constant weights, in terms by warpgroups of a Hopper.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/families/terms_wgmma/spec.h"
#include "backends/cuda/lower/float_product.h"
#include "backends/cuda/lower/window_tiles.h"

namespace octet::cuda {
namespace {

using terms_wgmma::Spec;

bool has_padding(const ConvGeometry& geometry) {
  const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
  return h.pad_begin != 0 || h.pad_end != 0 || w.pad_begin != 0 || w.pad_end != 0;
}

Number x_of(const FloatProduct& product) {
  return product.dequantized ? product.dequantized->type : product.x_type;
}

std::string reject(const FloatProduct& product, const Chip& chip) {
  if (std::string reason = chip.reject_without({Instruction::wgmma, Instruction::tma});
      !reason.empty())
    return reason;
  if (product.x_type != Number::f32 || product.grid != Number::f32)
    return "x is numbers of 16 bits";
  // The accelerator's zeros beyond an image are codes.
  if (product.dequantized && product.dequantized->zero_point != 0 && has_padding(product.geometry))
    return "padding is no code of zero";
  return reject_window(product.geometry, bytes_of(x_of(product)));
}

bool fits(const WindowTile& tile, Number x) {
  return !tile.pingpong && tile.mode != XMode::halo && tile.bn <= 128 &&
         terms_wgmma::registers(tile, x, 1) <= terms_wgmma::most_registers(tile);
}

s32 products_of(const Spec& spec) {
  const s32 all = terms_wgmma::x_terms(spec.x) * spec.main.w_terms;
  return all == 9 ? 6 : all;  // the three smallest are left out
}

Spec without_tile(const FloatProduct& product) {
  ConvWindow window = float_window(product);
  window.pixels = field_of(product.pixels());
  return {.main = {.window = window,
                   .number_bytes = bytes_of(x_of(product)),
                   .w_terms = product.facts.bf16 ? 1 : 3,
                   .residual_bytes = 0,
                   .tile = {}},
          .at = {},
          .end = real_end(product),
          .x = x_of(product),
          .late_bias = product.has_bias && !product.bias,
          .y_access = 1};
}

// Params::weights.
std::vector<std::byte> packed(const FloatProduct& product, const Spec& spec) {
  const s64 row = s64{pieces(spec.main)} * spec.main.w_terms * numbers_of_piece(spec.main);
  std::vector<u16> words(static_cast<size_t>(padded_channels(spec.main) * row));
  const s32 k_all = taps(spec.main) * spec.main.window.cin;
  for (s32 c = 0; c < product.cout(); ++c) {
    for (s32 k = 0; k < k_all; ++k) {
      const std::array<u16, 3> terms = bf16_terms(product.weight(c, k));
      for (s32 t = 0; t < spec.main.w_terms; ++t)
        words[static_cast<size_t>(word_of_weight(spec, {c, k, t}))] = terms[static_cast<size_t>(t)];
    }
  }
  return bytes_of(std::span<const u16>(words));
}

Launch make_launch(const FloatProduct& product, Spec spec, const Chip& chip, const BindArgs& bind) {
  const s64 in_channels = product.geometry.in_channels, channels = product.geometry.out_channels;
  const s64 y_bytes = bytes_of(spec.end.y), residual_bytes = bytes_of(spec.end.residual_type);
  spec.at.x = product.strides(product.x, in_channels, bind.inputs[product.x_input]);
  spec.at.y = product.strides(product.y, channels, bind.outputs[0]);
  constexpr s64 kWidest = 16;
  s64 most = std::min<s64>(kWidest / y_bytes, own_channels(spec.main.tile));
  most = pixel_access(most, channels, spec.at.y, bind.output_offset(0) / y_bytes);
  if (product.has_residual) {
    const size_t input = product.residual_input;
    spec.at.residual = product.strides(product.y, channels, bind.inputs[input]);
    most =
        pixel_access(most, channels, spec.at.residual, bind.input_offset(input) / residual_bytes);
  }
  spec.y_access = field_of(most);
  const s64 blocks = tiled_blocks(spec.main, chip);
  spec.main.tile.rolled = is_rolled(spec.main, blocks);
  return {.source = source_of("terms_wgmma", spec),
          .shape = {.blocks = blocks,
                    .threads = threads(spec.main),
                    .shared_bytes = terms_wgmma::memory(spec.main).all,
                    .programmatic_dependent = true}};
}

std::vector<BlobRecipe> blobs(const FloatProduct& product, const Spec& spec) {
  const WindowTile& tile = spec.main.tile;
  std::vector<BlobRecipe> all;
  all.push_back(
      {fmt::format("terms_wgmma {}x{} by {} of {} {} {} {}", tile.bn, tile.k_bytes, tile.group,
                   spec.main.number_bytes, spec.main.w_terms, product.rows, product.weights_form),
       {product.weights},
       [product, spec] { return packed(product.with_weights(), spec); }});
  if (product.bias) all.push_back(constant_blob(product.bias));
  return all;
}

terms_wgmma::Params parameters(const FloatProduct& product, const Spec& spec, const PixelStrides& x,
                               const StepData& data) {
  const TiledWindow& main = spec.main;
  const CudaDevice& device = cuda_queue(data.args).device();
  const s64 row = s64{pieces(main)} * boxes_of_weights(main) * weights_row(main);
  return {.x = tiled_x_map(main, product.geometry, x, device, data.input(product.x_input)),
          .weights =
              rows_map(device, {row, padded_channels(main), row, weights_row(main), main.tile.bn},
                       data.blob<u16>(0)),
          .numbers = data.input(product.x_input),
          .words = data.blob<u16>(0),
          .end = real_end_params(product, data, 1)};
}

f64 bytes_moved(const FloatProduct& product, const Spec& spec) {
  const f64 y = static_cast<f64>(product.y.elements());
  f64 bytes = static_cast<f64>(product.x.elements()) * bytes_of(spec.x);
  bytes += static_cast<f64>(product.weight_count()) * 2 * spec.main.w_terms;
  bytes += y * bytes_of(spec.end.y);
  if (product.has_residual) bytes += y * bytes_of(spec.end.residual_type);
  return bytes;
}

TileChoice choice_of(const FloatProduct& product, const Spec& spec, const Costs& costs) {
  return {.main = spec.main,
          .geometry = product.geometry,
          .bytes = bytes_moved(product, spec),
          .finish_rate = costs.product_wgmma_finish_rate,
          .residual_cycles = product.has_residual ? costs.product_wgmma_residual : 0.0,
          .y_bytes = bytes_of(spec.end.y),
          .products = products_of(spec),
          .products_apart = costs.terms_wgmma_apart,
          .memory = terms_wgmma::memory,
          .fits = [x = spec.x](const WindowTile& tile) { return fits(tile, x); }};
}

Candidate candidate_for(const LowerRequest& request, const FloatProduct& product, const Spec& spec,
                        f64 cost) {
  const CudaDevice& device = device_of(request);
  const bool image = !product.rows;
  Candidate candidate =
      candidate_of(request,
                   fmt::format("{}_terms{}_wgmma_{}", product.rows ? "matmul" : "conv",
                               products_of(spec), tile_name(spec.main.tile)),
                   image ? Layout::nhwc : Layout::linear);
  candidate.strided = candidate.writes_slices = image;
  candidate.alignment = kTmaAlignment;
  candidate.close = true;
  candidate.cost = cost;
  candidate.macs_per_cycle =
      device.chip().costs().rate_wgmma_s8 / (2 * products_of(spec)) * device.chip().multiprocessors;
  set_placed_step(
      candidate, device,
      {.make_launch =
           [product, spec, &device](const BindArgs& bind) {
             return make_launch(product, spec, device.chip(), bind);
           },
       .recipes = [product, spec](const BindArgs&) { return blobs(product, spec); }},
      [product, spec](const BindArgs& bind) {
        const PixelStrides x = in_bytes(
            product.strides(product.x, product.geometry.in_channels, bind.inputs[product.x_input]),
            spec.main.number_bytes);
        return
            [product, spec, x](const StepData& data) { return parameters(product, spec, x, data); };
      });
  return candidate;
}

}  // namespace

Offer terms_wgmma_offer(const LowerRequest& request, const FloatProduct& product) {
  const Chip& chip = device_of(request).chip();
  if (std::string reason = reject(product, chip); !reason.empty()) return Reject{reason};
  Spec spec = without_tile(product);
  const std::vector<CostedTile> tiles = window_tiles(choice_of(product, spec, chip.costs()), chip);
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
