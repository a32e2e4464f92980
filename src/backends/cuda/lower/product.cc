// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/product.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fine_table.h"

namespace octet::cuda {
namespace {

std::string read_constants(const LowerRequest& request, Product& product) {
  const auto take = [&](size_t i, Tensor& tensor) {
    if (!request.has_input(i)) return true;
    const Tensor* constant = request.constant(i);
    if (constant != nullptr) tensor = *constant;
    return constant != nullptr;
  };
  if (!take(kProductBias, product.bias)) return "the bias is not a constant";
  if (!take(kProductMultiplier, product.multiplier)) return "the multiplier is not a constant";
  if (!take(kProductTable, product.table)) return "the table is not a constant";
  return {};
}

// A byte alone as the lowest bits of a half: device/epilogue.cuh.
bool residual_in_halves(const Product& product) {
  constexpr f32 kFactor = 1 << 24;
  return !product.residual_s8 && product.epilogue.zero_point(kProductResidual) == 0 &&
         std::isfinite(product.epilogue.residual_multiplier * kFactor);
}

// Codes that a segment gives lie between those of its ends.
template <class F>
bool each_end(const Tensor& table, const F& holds) {
  return std::ranges::all_of(table.as<s32>(), [&](s32 segment) {
    const s64 first = s64{fine_base(segment)} * kFineStep;
    return holds(first) && holds(first + s64{fine_slope(segment)} * (kFineStep - 1));
  });
}

// What is added before the sum of a segment, in 2^-16 of a code, is cut.
constexpr s64 kFineHalf = s64{kFineUnit} / 2 * kFineStep + kFineStep / 2;

// EpilogueSpec::fine_shift: the longest of which no upper bit is lost.
s32 fine_shift(const Product& product) {
  const CodeRange& range = product.epilogue.range;
  const auto fits = [&](s64 sum) {
    const s64 code = (sum + kFineHalf) >> 16;
    return code >= range.lo && code <= range.hi;
  };
  if (each_end(product.table, fits)) return 24;
  const auto short_sum = [](s64 sum) { return std::abs(sum + kFineHalf) < s64{1} << 25; };
  return each_end(product.table, short_sum) ? 22 : 21;
}

std::vector<std::byte> lines_of(const Product& product) {
  const s32 shift = fine_shift(product);
  const std::span<const s32> table = product.table.as<s32>();
  std::vector<u32> words(kFineBytes / 4);
  for (u32 i = 0; i < kFineLines; ++i) {
    const s32 segment = table[std::min<size_t>(i, table.size() - 1)];
    u32 first = static_cast<u32>(fine_base(segment)) * kFineStep + static_cast<u32>(kFineHalf);
    u32 slope = static_cast<u32>(fine_slope(segment));
    if (i == table.size()) first += slope * (kFineStep - 1), slope = 0;
    if (shift == 24) slope *= 4;
    const u32 place = (0x40000000u + (i << 16)) >> (shift == 21 ? 1 : 0);
    words[2 * i] = (first << (shift - 16)) - slope * place;
    words[2 * i + 1] = slope;
  }
  return bytes_of<u32>(words);
}

BlobRecipe copied(const char* key, const Tensor& tensor) {
  return {key, {tensor}, [tensor] {
            return std::vector<std::byte>(tensor.data(), tensor.data() + tensor.bytes());
          }};
}

}  // namespace

std::vector<std::byte> table_of(const Product& product) {
  if (product.epilogue.fine_zero_point) return lines_of(product);
  const Tensor& table = product.table;
  return {table.data(), table.data() + table.bytes()};
}

std::vector<s32> biases_of(const Product& product, s64 channels, const std::vector<s32>& sums) {
  std::vector<s32> bias(static_cast<size_t>(channels));
  const u32 zero_point = static_cast<u32>(product.epilogue.zero_point(kProductX));
  for (size_t c = 0; c < bias.size(); ++c) {
    const u32 own = product.bias ? static_cast<u32>(product.bias.as<s32>()[c]) : 0;
    // Modulo 2^32, as the sums of the kernel.
    bias[c] = static_cast<s32>(own - zero_point * static_cast<u32>(sums[c]));
  }
  return bias;
}

std::vector<f32> multipliers_of(const Tensor& multiplier, s64 channels) {
  const std::span<const f32> given = multiplier.as<f32>();
  if (given.size() > 1) return {given.begin(), given.end()};
  return std::vector<f32>(static_cast<size_t>(channels), given[0]);
}

std::string read_product(const LowerRequest& request, Product& product) {
  if (std::string reason = read_constants(request, product); !reason.empty()) return reason;
  if (request.constant(kProductX) != nullptr) return "the input is a constant";
  product.epilogue = epilogue_of(request.node);
  product.x_s8 = request.inputs[kProductX].dtype == Dtype::s8;
  product.has_residual = request.has_input(kProductResidual);
  product.has_addend = request.has_input(kProductAddend);
  if (product.has_residual) {
    if (request.constant(kProductResidual) != nullptr) return "the residual is a constant";
    product.residual_s8 = request.inputs[kProductResidual].dtype == Dtype::s8;
  }
  if (!product.has_addend) return {};
  product.addend_s8 = request.inputs[kProductAddend].dtype == Dtype::s8;
  if (const Tensor* row = request.constant(kProductAddend)) {
    if (row->shape().rank() != 1) return "the addend is a constant";
    product.addend_row = *row;
  }
  return {};
}

EpilogueSpec epilogue_spec(const Product& product) {
  const Epilogue& epilogue = product.epilogue;
  const Activation& activation = epilogue.activation;
  const SumStage sum = epilogue.sum.value_or(SumStage{});
  const s32 residual_zero_point = product.has_residual ? epilogue.zero_point(kProductResidual) : 0;
  return {
      .real = product.real(),
      .is_signed = epilogue.output_dtype == Dtype::s8,
      .zero_point = epilogue.range.zero_point,
      .lo = epilogue.range.lo,
      .hi = epilogue.range.hi,
      .t_fits = false,
      .residual = product.has_residual,
      .residual_signed = product.residual_s8,
      .residual_zero_point = residual_zero_point,
      .residual_multiplier = bits_of(product.has_residual ? epilogue.residual_multiplier : 0.0f),
      .residual_halves = product.has_residual && residual_in_halves(product),
      .leaky = activation.kind == Activation::Kind::leaky_relu,
      .alpha = bits_of(activation.alpha),
      .clamp = activation.is_clamp(),
      .clamp_lo = bits_of(activation.min),
      .clamp_hi = bits_of(activation.max),
      .table = !!product.table,
      .table_lanes = false,
      .fine = epilogue.fine_zero_point.has_value(),
      .fine_zero_point = epilogue.fine_zero_point.value_or(0),
      .fine_shift = epilogue.fine_zero_point ? fine_shift(product) : 0,
      .sum = epilogue.sum.has_value(),
      .own_zero_point = sum.own_zero_point,
      .own_multiplier = bits_of(sum.own_multiplier),
      .addend_signed = product.addend_s8,
      .addend_zero_point = epilogue.sum ? epilogue.zero_point(kProductAddend) : 0,
      .addend_multiplier = bits_of(sum.addend_multiplier),
      .addend_first = sum.addend_first,
      .sum_zero_point = sum.range.zero_point,
      .sum_lo = sum.range.lo,
      .sum_hi = sum.range.hi};
}

std::vector<BlobRecipe> epilogue_blobs(const Product& product, const Tensor& weights, s64 channels,
                                       std::function<std::vector<s32>()> weight_sums) {
  std::vector<BlobRecipe> blobs;
  const s64 zero_point = product.epilogue.zero_point(kProductX);
  blobs.push_back({fmt::format("{} biases, zero point {}", channels, zero_point),
                   {weights, product.bias},
                   [=, sums = std::move(weight_sums)] {
                     return bytes_of<s32>(biases_of(product, channels, sums()));
                   }});
  blobs.push_back({fmt::format("{} multipliers", channels), {product.multiplier}, [=] {
                     return bytes_of<f32>(multipliers_of(product.multiplier, channels));
                   }});
  if (product.epilogue.fine_zero_point) {
    blobs.push_back({fmt::format("lines, shift {}", fine_shift(product)),
                     {product.table},
                     [product] { return lines_of(product); }});
  } else if (product.table) {
    blobs.push_back(copied("table", product.table));
  }
  if (product.addend_row) blobs.push_back(copied("row", product.addend_row));
  return blobs;
}

EpilogueParams epilogue_params(const Product& product, const StepData& data, size_t first) {
  EpilogueParams p{};
  p.bias = data.blob<s32>(first++);
  p.multiplier = data.blob<f32>(first++);
  if (product.table) p.table = data.blob<u8>(first++);
  if (product.has_residual) p.residual = data.input(kProductResidual);
  if (product.addend_row) {
    p.addend = data.blob<u8>(first++);
  } else if (product.has_addend) {
    p.addend = data.input(kProductAddend);
  }
  p.out = data.output();
  return p;
}

std::string reject_sizes(const ConvGeometry& geometry) {
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
  if (geometry.batch * geometry.window.out_elements() > kMost)
    return "the result has 2^31 pixels or more";
  s64 largest = std::max(
      {geometry.in_channels_per_group(), geometry.out_channels_per_group(), geometry.groups});
  for (const WindowAxis& axis : {h, w})
    largest = std::max(
        {largest, axis.in, axis.out, axis.kernel, axis.stride, axis.dilation, axis.pad_begin});
  return largest > kMost ? "a size, a stride or a dilation is 2^31 or more" : "";
}

ConvWindow window_fields(const ConvGeometry& geometry, bool x_signed, s32 zero_point) {
  const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
  return {.x_signed = x_signed,
          .zero_point = zero_point,
          .in_h = field_of(h.in),
          .in_w = field_of(w.in),
          .cin = field_of(geometry.in_channels_per_group()),
          .cout = field_of(geometry.out_channels_per_group()),
          .groups = field_of(geometry.groups),
          .taps_h = field_of(h.kernel),
          .taps_w = field_of(w.kernel),
          .stride_h = field_of(h.stride),
          .stride_w = field_of(w.stride),
          .dilation_h = field_of(h.dilation),
          .dilation_w = field_of(w.dilation),
          .pad_top = field_of(h.pad_begin),
          .pad_left = field_of(w.pad_begin),
          .out_h = field_of(h.out),
          .out_w = field_of(w.out),
          .pixels = 0};
}

PixelStrides pixel_strides(const Shape& shape, const Placement& placement) {
  const std::vector<s64> strides = strides_of(shape, placement);
  return {strides[0], strides[2], strides[3]};
}

s64 common_power(s64 most, std::initializer_list<s64> values) {
  s64 power = most;
  for (s64 value : values) {
    while (power > 1 && value % power != 0) power /= 2;
  }
  return power;
}

}  // namespace octet::cuda
