// SPDX-License-Identifier: Apache-2.0
// Depthwise Conv of reals, with what stands around it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backends/cuda/families/depthwise_real/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/float_product.h"
#include "core/divide.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using depthwise_real::Spec;

// What a thread computes: `rows` of y one after another, of so many columns and channels. No columns: one pixel.
struct Strip {
  s64 channels = 1, columns = 0, rows = 0;
};

bool is_exact(const FloatProduct& product) {
  const Number x = product.dequantized ? product.grid : product.x_type;
  return x == Number::f16 && product.facts.f16;
}

Spec make_spec(const FloatProduct& product, const Strip& strip) {
  const bool codes = product.dequantized.has_value();
  return {.window = float_window(product),
          .at = {},
          .end = real_end(product),
          .x = codes ? product.dequantized->type : product.x_type,
          .x_rounded = codes ? product.grid : Number::f32,
          .exact = is_exact(product),
          .channels = field_of(strip.channels),
          .columns = field_of(strip.columns),
          .rows = field_of(strip.rows)};
}

std::string reject(const FloatProduct& product) {
  constexpr s64 kMost = std::numeric_limits<s32>::max() / 2, kMostTaps = 81;
  if (product.rows) return "it is no convolution";
  if (product.geometry.window.kernel_elements() > kMostTaps) return "the window is large";
  return product.x.elements() > kMost || product.y.elements() > kMost
             ? "an operand has 2^30 elements or more"
             : "";
}

// Instructions of what moves and changes a number, as compilers make them.
f64 reading_cost(const Spec& s) {
  if (is_code(s.x)) return s.x_rounded == Number::f32 ? 3 : 5;
  return s.x == Number::f32 ? 0 : 1;
}
f64 ending_cost(const Spec& s) { return is_code(s.end.y) ? 11 : s.end.y == Number::f32 ? 2 : 1.5; }

// Of a thread: rows of x as reals, the next ones as they come, weights.
s64 registers_of(const Spec& s) {
  constexpr s64 kOthers = 46;
  const s64 read = depthwise_real::read_columns(s), taps = depthwise_real::taps(s);
  const s64 coming = depthwise_real::strides_h(s.window).move * read *
                     ceil_div(s.channels * bytes_of(s.x), s64{4});
  return (s.window.taps_h * read + taps + 1) * s.channels + coming + kOthers;
}

constexpr s64 kMostRegisters = 215;
constexpr std::pair<s64, s64> kStrips[] = {{4, 4}, {4, 2}, {4, 1}, {2, 7}, {2, 4}, {2, 2},
                                           {2, 1}, {1, 7}, {1, 4}, {1, 2}, {1, 1}};

struct Work {
  f64 instructions;  // of a thread
  f64 bytes;         // that it loads and stores
};

Work work_of(const Spec& s) {
  const f64 channels = s.channels, columns = s.columns, taps = depthwise_real::taps(s);
  const f64 read = depthwise_real::read_columns(s);
  constexpr f64 kLoad = 2.5, kStore = 3, kRow = 25, kBegin = 120;
  const f64 sum = s.exact ? taps + 4 : 2 * taps + 1;
  const f64 outputs = s.rows * columns * channels;
  const s32 move = depthwise_real::strides_h(s.window).move;
  const f64 rows_read = (s.rows - 1) * move + s.window.taps_h;
  return {outputs * (sum + ending_cost(s)) +
              rows_read * read * (channels * reading_cost(s) + kLoad) +
              s.rows * (columns * kStore + kRow) + kBegin + 2 * taps,
          rows_read * read * channels * bytes_of(s.x) + outputs * bytes_of(s.end.y) +
              taps * channels * 4};
}

// Rows wait for memory once each, beside other threads.
f64 cost_of(const FloatProduct& product, const Strip& strip, f64 bytes, const Chip& chip) {
  const f64 moving = bytes_cost(bytes, chip);
  if (strip.columns == 0) return moving;
  constexpr f64 kRegisters = 65536, kLatencies = 2.5;
  const Costs& costs = chip.costs();
  const Spec spec = make_spec(product, strip);
  const Work work = work_of(spec);
  const f64 threads = static_cast<f64>(product.geometry.batch * depthwise_real::items(spec));
  const f64 resident = std::floor(kRegisters / static_cast<f64>(registers_of(spec)) /
                                  depthwise_real::threads(spec)) *
                       depthwise_real::threads(spec) * chip.multiprocessors;
  const f64 waves = threads / resident;
  const f64 each = threads / chip.multiprocessors;  // of a multiprocessor
  const f64 issuing = each * work.instructions / costs.rate_multiply_f32;
  const f64 caching = each * work.bytes / costs.tile_cache_rate;
  const f64 each_waits = static_cast<f64>(strip.rows + 2) * kLatencies * costs.conv_direct_latency;
  const f64 waiting = std::ceil(waves) * each_waits;
  // Where no row is read twice long strips win nothing, and those that begin last end late.
  const f64 ending = depthwise_real::taps(spec) == 1 ? each_waits : 0;
  const f64 busy = std::max({issuing, caching}) * std::ceil(waves) / waves;
  const f64 shorter = std::min(moving - costs.kernel_start, busy);
  return costs.kernel_start + std::max({moving - costs.kernel_start, busy, waiting}) +
         costs.kernel_apart * shorter + ending;
}

// So many channels and columns, if registers and the image hold them.
bool fits(const FloatProduct& product, const Strip& strip) {
  const ConvWindow window = float_window(product);
  const s64 width = ceil_div_s32(window.out_w, depthwise_real::strides_w(window).apart);
  constexpr s64 kWhole = 7;  // columns that are worth it where they leave none over
  return product.geometry.out_channels % strip.channels == 0 && strip.columns <= width &&
         (strip.columns != kWhole || width % kWhole == 0) &&
         registers_of(make_spec(product, strip)) <= kMostRegisters;
}

// Those that registers hold, with the best rows of each, the best first; none where a thread cannot keep rows. For measurements, two others of the best one.
std::vector<Strip> strips_of(const FloatProduct& product, f64 bytes, const Chip& chip) {
  const ConvWindow window = float_window(product);
  if (!depthwise_real::keeps_rows(window)) return {};
  const s64 height = ceil_div_s32(window.out_h, depthwise_real::strides_h(window).apart);
  const auto cost = [&](const Strip& strip) { return cost_of(product, strip, bytes, chip); };
  std::vector<Strip> strips;
  for (const auto& [channels, columns] : kStrips) {
    Strip best{channels, columns, height};
    if (!fits(product, best)) continue;
    for (s64 rows = height; rows > 1;) {
      const Strip other{channels, columns, rows = ceil_div(rows, s64{2})};
      if (cost(other) < cost(best)) best = other;
    }
    strips.push_back(best);
  }
  std::ranges::stable_sort(strips, {}, cost);
  if (strips.empty()) return {};
  const Strip best = strips[0];
  if (best.rows != height) strips.push_back({best.channels, best.columns, height});
  if (best.rows > 1) strips.push_back({best.channels, best.columns, ceil_div(best.rows, s64{2})});
  return strips;
}

Launch make_launch(const FloatProduct& product, const Strip& strip, const BindArgs& bind) {
  Spec spec = make_spec(product, strip);
  const s64 channels = product.geometry.out_channels;
  const Placement &x = bind.inputs[product.x_input], &y = bind.outputs[0];
  spec.at.x = product.strides(product.x, channels, x);
  spec.at.y = product.strides(product.y, channels, y);
  const s64 x_bytes = bytes_of(spec.x), y_bytes = bytes_of(spec.end.y);
  s64 most = common_power(
      strip.channels, {channels, spec.at.x.image, spec.at.x.row, spec.at.x.pixel,
                       bind.input_offset(product.x_input) / x_bytes, spec.at.y.image, spec.at.y.row,
                       spec.at.y.pixel, bind.output_offset(0) / y_bytes});
  if (product.has_residual) {
    const PixelStrides r = spec.at.residual =
        product.strides(product.y, channels, bind.inputs[product.residual_input]);
    most = common_power(
        most, {r.image, r.row, r.pixel,
               bind.input_offset(product.residual_input) / bytes_of(spec.end.residual_type)});
  }
  spec.channels = field_of(most);
  const s64 threads = depthwise_real::threads(spec);
  return {
      .source = source_of("depthwise_real", spec),
      .shape = {.blocks = ceil_div(product.geometry.batch * depthwise_real::items(spec), threads),
                .threads = static_cast<int>(threads),
                .programmatic_dependent = true}};
}

std::vector<std::byte> packed(const FloatProduct& product) {
  const s64 channels = product.geometry.out_channels,
            taps = product.geometry.window.kernel_elements();
  std::vector<f32> weights(static_cast<size_t>(channels * taps));
  for (s64 tap = 0; tap < taps; ++tap) {
    for (s64 c = 0; c < channels; ++c)
      weights[static_cast<size_t>(tap * channels + c)] = product.weight(c, tap);
  }
  return bytes_of(std::span<const f32>(weights));
}

std::vector<BlobRecipe> blobs(const FloatProduct& product) {
  std::vector<BlobRecipe> all;
  all.push_back({"depthwise_real", {product.weights}, [product] { return packed(product); }});
  if (product.bias) all.push_back(constant_blob(product.bias));
  return all;
}

// Sums of a window of many taps take as many registers as it has, up to 16.
Strip one_pixel(const FloatProduct& product) {
  constexpr s64 kWidest = 16, kFewTaps = 9;
  const Spec spec = make_spec(product, {});
  return {std::min(depthwise_real::taps(spec) <= kFewTaps ? s64{8} : s64{4},
                   kWidest / std::min(bytes_of(spec.x), bytes_of(spec.end.y)))};
}

Candidate candidate_for(const LowerRequest& request, const FloatProduct& product,
                        const Strip& strip) {
  const CudaDevice& device = device_of(request);
  const std::string name = strip.columns == 0 ? "depthwise_real"
                                              : fmt::format("depthwise_real_{}x{}x{}", strip.rows,
                                                            strip.columns, strip.channels);
  Candidate candidate = candidate_of(request, name, Layout::nhwc);
  if (!is_chain(request.node)) candidate.inputs[kFloatWeights] = Layout::linear;
  candidate.strided = candidate.writes_slices = true;
  candidate.by_image = !is_chain(request.node) && (!product.has_bias || product.bias);
  candidate.cost = cost_of(product, strip, moved_bytes(request), device.chip());
  candidate.macs_per_cycle =
      device.chip().costs().rate_multiply_f32 * device.chip().multiprocessors;
  set_step(candidate, device,
           {.make_launch = [product, strip](
                               const BindArgs& bind) { return make_launch(product, strip, bind); },
            .recipes = [product](const BindArgs&) { return blobs(product); }},
           [product](const StepData& data) {
             return depthwise_real::Params{data.input(product.x_input), data.blob<f32>(0),
                                           real_end_params(product, data, 1),
                                           static_cast<s32>(product.geometry.batch)};
           });
  return candidate;
}

}  // namespace

Offer depthwise_real_offer(const LowerRequest& request, const FloatProduct& product) {
  if (std::string reason = reject(product); !reason.empty()) return Reject{reason};
  std::vector<Strip> strips = strips_of(product, moved_bytes(request), device_of(request).chip());
  if (strips.empty()) strips.push_back(one_pixel(product));
  if (!request.target.keep_others && request.target.tuning == nullptr) strips.resize(1);
  Candidates candidates;
  for (const Strip& strip : strips) candidates.push_back(candidate_for(request, product, strip));
  return candidates;
}

}  // namespace octet::cuda
