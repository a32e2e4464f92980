// SPDX-License-Identifier: Apache-2.0
// Conv and MatMul of reals by constant weights, on tensor cores.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "backends/cuda/families/product_terms/spec.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/float_product.h"
#include "backends/cuda/lower/float_variants.h"
#include "core/divide.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using product_terms::Spec;

std::string reject_operands(const FloatProduct& product) {
  constexpr s64 kMost = std::numeric_limits<s32>::max() / 2;
  for (const s64 size : {product.x.elements(), product.y.elements(), product.weight_count()}) {
    if (size > kMost) return "an operand has 2^30 elements or more";
  }
  constexpr s64 kFew = 4;  // channels of a group: columns of tiles would be empty
  // Reals of 16 bits have no other kernel.
  const bool other = product.geometry.groups > 1 || product.grid == Number::f32;
  return product.cout() <= kFew && other ? "there are few channels" : "";
}

// The number as f16, which holds it; or as terms.
std::array<u16, 3> terms_of(f32 value, bool f16) {
  return f16 ? std::array<u16, 3>{octet::f16(value).bits} : bf16_terms(value);
}

std::vector<std::byte> packed(const FloatProduct& product, const Spec& spec) {
  std::vector<u16> words(static_cast<size_t>(weight_words(spec)));
  const s32 bn = product_terms::bn(spec);
  for (s64 c = 0; c < product.geometry.out_channels; ++c) {
    const s32 group = static_cast<s32>(c / product.cout()),
              own = static_cast<s32>(c % product.cout());
    const s32 column = product_terms::column_of_channel(own % bn, spec.tiles_n);
    for (s32 k = 0; k < k_all(spec); ++k) {
      const std::array<u16, 3> terms = terms_of(product.weight(c, k), spec.f16);
      for (s32 t = 0; t < spec.w_terms; ++t)
        words[static_cast<size_t>(weight_place(spec, {group, own / bn, k, column, t}))] =
            terms[static_cast<size_t>(t)];
    }
  }
  return bytes_of(std::span<const u16>(words));
}

// Columns as the channels need them; rows so that the chip's multiprocessors all have a block; as many stages as the memory holds.
Spec choose_tile(const FloatProduct& product, const Chip& chip) {
  const s64 cout = product.cout(), pixels = product.pixels();
  const bool f16 = product.grid == Number::f16 && product.facts.f16;
  const bool bf16 = product.grid == Number::bf16 && product.facts.bf16;
  const bool one = product.dequantized || bf16 || f16;
  Spec spec{.window = float_window(product),
            .at = {},
            .end = real_end(product),
            .x = product.dequantized ? product.dequantized->type : product.x_type,
            .f16 = f16,
            .x_terms = one ? 1 : 3,
            .w_terms = f16 || product.facts.bf16 ? 1 : 3,
            .x_access = 4,
            .y_access = 1,
            .warps_m = 4,
            .warps_n = cout > 64 ? 2 : 1,
            .tiles_m = 2,
            .tiles_n = cout <= 16   ? 2
                       : cout <= 32 ? 4
                                    : 8,
            .stages = 4};
  if (blocks(spec, pixels) < chip.multiprocessors) spec.tiles_m = 1;
  if (blocks(spec, pixels) < chip.multiprocessors) spec.warps_n = 1;
  while (spec.stages > 2 && shared_bytes(spec) > chip.shared_bytes_per_block) --spec.stages;
  return spec;
}

// One launch of a step: a transposed convolution has one for each of its phases.
struct Part {
  FloatPhase phase;
  Spec spec;
};

// Of a pixel in y, and in what is added, in elements.
s64 offset_of(const FloatPhase& phase, const PixelStrides& y) {
  return phase.row * y.row + phase.column * y.pixel;
}

PixelStrides strides_of_y(const FloatProduct& product, const Placement& placement) {
  return product.strides(product.y, product.geometry.out_channels, placement);
}

Launch make_launch(const FloatProduct& whole, const Part& part, const BindArgs& bind) {
  const FloatProduct& product = part.phase.product;
  Spec spec = part.spec;
  const s64 x_bytes = bytes_of(spec.x), y_bytes = bytes_of(spec.end.y);
  constexpr s64 kWidest = 16;
  spec.at.x =
      product.strides(product.x, product.geometry.in_channels, bind.inputs[product.x_input]);
  const PixelStrides y = strides_of_y(product, bind.outputs[0]);
  spec.at.y = phase_strides(whole, y);
  spec.x_access = field_of(pixel_access(kWidest / x_bytes, product.cin(), spec.at.x,
                                        bind.input_offset(product.x_input) / x_bytes) *
                           x_bytes);
  s64 channels =
      pixel_access(std::min<s64>(kWidest / y_bytes, 2 * spec.tiles_n), product.cout(), spec.at.y,
                   bind.output_offset(0) / y_bytes + offset_of(part.phase, y));
  if (product.has_residual) {
    const PixelStrides residual = strides_of_y(product, bind.inputs[product.residual_input]);
    spec.at.residual = phase_strides(whole, residual);
    channels =
        pixel_access(channels, product.cout(), spec.at.residual,
                     bind.input_offset(product.residual_input) / bytes_of(spec.end.residual_type) +
                         offset_of(part.phase, residual));
  }
  spec.y_access = field_of(channels);
  return {.source = source_of("product_terms", spec),
          .shape = {.blocks = blocks(spec, product.pixels()),
                    .threads = threads(spec),
                    .shared_bytes = shared_bytes(spec),
                    .programmatic_dependent = true}};
}

// Weights of each part, then the bias.
std::vector<BlobRecipe> blobs(const std::vector<Part>& parts) {
  std::vector<BlobRecipe> all;
  for (const auto& [phase, spec] : parts) {
    const FloatProduct& product = phase.product;
    all.push_back(
        {fmt::format("product_terms {}x{} {} {} {} {} {}", bn(spec), spec.tiles_n, spec.w_terms,
                     spec.f16, product.geometry.groups, product.rows, product.weights_form),
         {product.weights},
         [product, spec = spec] { return packed(product.with_weights(), spec); }});
  }
  const Tensor& bias = parts[0].phase.product.bias;
  if (bias) all.push_back(constant_blob(bias));
  return all;
}

// Bytes from where y, and what is added, begin to a part's first pixel.
struct PartOffsets {
  s64 y = 0, residual = 0;
};

PartOffsets offsets_of(const Part& part, const BindArgs& bind) {
  const FloatProduct& product = part.phase.product;
  const RealEnd& end = part.spec.end;
  PartOffsets offsets{.y = offset_of(part.phase, strides_of_y(product, bind.outputs[0])) *
                           bytes_of(end.y)};
  if (product.has_residual)
    offsets.residual =
        offset_of(part.phase, strides_of_y(product, bind.inputs[product.residual_input])) *
        bytes_of(end.residual_type);
  return offsets;
}

product_terms::Params parameters(const FloatProduct& product, const PartOffsets& offsets,
                                 const StepData& data, std::pair<size_t, size_t> part_of) {
  product_terms::Params p{data.input(product.x_input), data.blob<u16>(part_of.first),
                          real_end_params(product, data, part_of.second),
                          static_cast<s32>(product.pixels())};
  p.end.y = static_cast<u8*>(p.end.y) + offsets.y;
  if (product.has_residual)
    p.end.residual = static_cast<const u8*>(p.end.residual) + offsets.residual;
  return p;
}

// Products of terms that one multiplication of reals takes.
s32 products_of(const Spec& spec) {
  return spec.x_terms * spec.w_terms == 9 ? 6 : spec.x_terms * spec.w_terms;
}

f64 cost(const FloatProduct& product, const Spec& spec, const Chip& chip) {
  const Costs& costs = chip.costs();
  TileWork work;
  work.tiles = blocks(spec, product.pixels());
  const f64 bm = product_terms::bm(spec), bn = product_terms::bn(spec);
  const f64 k = static_cast<f64>(k_tiles(spec)) * product_terms::kBk;
  work.multiply_cycles = bm * bn * k * products_of(spec) / costs.rate_mma_f16 + costs.tile_begin;
  work.load_bytes = static_cast<f64>(stage_bytes(spec)) * k_tiles(spec);
  work.finish_cycles = bm * bn / costs.product_terms_finish_rate;
  f64 bytes = static_cast<f64>(product.x.elements()) * bytes_of(spec.x);
  bytes += static_cast<f64>(product.y.elements()) * bytes_of(spec.end.y);
  bytes += static_cast<f64>(weight_words(spec)) * sizeof(u16);
  if (product.has_residual)
    bytes += static_cast<f64>(product.y.elements()) * bytes_of(spec.end.residual_type);
  return tile_cost(work, bytes, chip);
}

std::string name_of(const FloatProduct& product, const Spec& spec) {
  return fmt::format("{}_{}terms{}_{}x{}",
                     product.rows         ? "matmul"
                     : product.transposed ? "conv_transpose"
                                          : "conv",
                     spec.f16                                ? "f16_"
                     : spec.x_terms == 1 && !is_code(spec.x) ? "bf16_"
                                                             : "",
                     products_of(spec), bm(spec), bn(spec));
}

// Of the product as it is, or of one that stands for it.
Offer offer_as(const LowerRequest& request, const FloatProduct& product) {
  if (std::string reason = reject_operands(product); !reason.empty()) return Reject{reason};
  const bool reads_f16 =
      product.x_type == Number::f16 || (product.dequantized && product.grid == Number::f16);
  if (reads_f16 && !product.facts.f16) return Reject{"x is f16, and a weight is not"};
  // Terms of weights that are zero would make NaN of an infinity.
  if (product.x_type == Number::bf16 && !product.facts.bf16)
    return Reject{"x is bf16, and a weight is not"};
  const CudaDevice& device = device_of(request);
  std::vector<Part> parts;
  for (FloatPhase& phase : phases_of(product)) {
    const Spec spec = choose_tile(phase.product, device.chip());
    parts.push_back({std::move(phase), spec});
  }
  const Spec& spec = parts[0].spec;
  if (std::string reason = device.chip().reject_without_mma(spec.f16); !reason.empty())
    return Reject{reason};
  const bool image = !product.rows;
  Candidate candidate =
      candidate_of(request, name_of(product, spec), image ? Layout::nhwc : Layout::linear);
  candidate.strided = candidate.writes_slices = image;
  // A chain's parts know the whole batch; a bias of a run is none of images.
  candidate.by_image = image && !is_chain(request.node) && (!product.has_bias || product.bias);
  candidate.close = true;
  for (const Part& part : parts)
    candidate.cost += cost(part.phase.product, part.spec, device.chip());
  candidate.macs_per_cycle =
      device.chip().costs().rate_mma_f16 / products_of(spec) * device.chip().multiprocessors;
  set_launches(
      candidate, device,
      {.make_launches =
           [product, parts](const BindArgs& bind) {
             std::vector<Launch> launches;
             for (const Part& part : parts) {
               launches.push_back(make_launch(product, part, bind));
               launches.back().part = launches.size() - 1;
             }
             return launches;
           },
       .recipes = [parts](const BindArgs&) { return blobs(parts); }},
      [parts](const BindArgs& bind) {
        std::vector<PartOffsets> offsets;
        for (const Part& part : parts) offsets.push_back(offsets_of(part, bind));
        return [parts, offsets](const StepData& data, size_t part) {
          return parameters(parts[part].phase.product, offsets[part], data, {part, parts.size()});
        };
      });
  return candidate;
}

}  // namespace

// Candidates for the node, or for a chain: values of rank 4 lie in nhwc.
Offer product_terms_offer(const LowerRequest& request, const FloatProduct& product) {
  Candidates all;
  Offer own = offer_as(request, product);
  if (Candidate* one = std::get_if<Candidate>(&own)) all.push_back(std::move(*one));
  const s64 groups = product.geometry.groups;
  const bool joins = product.grid != Number::f32 && !product.transposed && product.cin() > 1;
  for (s64 each = 2; joins && groups % each == 0 && each * product.cin() <= kWidestFloatGroup;
       each *= 2) {
    Offer offer = offer_as(request, with_groups(product, groups / each));
    Candidate* wider = std::get_if<Candidate>(&offer);
    if (wider == nullptr) continue;
    wider->kernel = fmt::format("grouped{}_{}", each, wider->kernel);
    all.push_back(std::move(*wider));
  }
  if (all.empty()) return own;
  return all;
}

}  // namespace octet::cuda
