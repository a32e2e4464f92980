// SPDX-License-Identifier: Apache-2.0
// QConv where each channel of the result reads one channel alone.
#include <algorithm>
#include <numeric>

#include "backends/cuda/families/depthwise/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

using depthwise::Spec;

constexpr s64 kWord = depthwise::kWord;
constexpr s64 kLargestUnrolled = 7;  // taps of an axis that are code of their own

struct Strip {
  s64 rows = 4, columns = 2;
};

std::string reject(const ConvRequest& conv) {
  if (conv.cin() != 1) return "a channel of the result reads several";
  if (conv.geometry.groups == 1 && conv.cout() > 1) return "one channel alone is read by all";
  return {};
}

constexpr Strip kStrips[] = {{4, 2}, {2, 2}, {2, 1}, {1, 4}, {1, 1}};

bool is_rolled(const ConvRequest& conv) {
  return std::max(conv.h().kernel, conv.w().kernel) > kLargestUnrolled;
}

// Outputs that share pixels lie so far apart along an axis, and so many taps.
s64 apart(const WindowAxis& axis) {
  return std::min(axis.dilation / std::gcd(axis.dilation, axis.stride), axis.out);
}
s64 taps_apart(const WindowAxis& axis) {
  return axis.stride / std::gcd(axis.dilation, axis.stride);
}

// At most so many outputs of a strip lie along an axis.
s64 most_along(const WindowAxis& axis) {
  return taps_apart(axis) > kWord ? 1 : ceil_div(axis.out, apart(axis));
}

s64 halved_to(s64 size, s64 most) {
  while (size > 1 && size / 2 >= most) size /= 2;
  return size;
}

bool fits(const ConvRequest& conv, const Strip& strip) {
  if (strip.columns > 2 && conv.h().out > 1) return false;
  return strip.rows == halved_to(strip.rows, most_along(conv.h())) &&
         strip.columns == halved_to(strip.columns, most_along(conv.w()));
}

// Four channels each; the last may have fewer.
s64 words_of(const ConvRequest& conv) { return ceil_div(conv.geometry.out_channels, kWord); }

// Few outputs: short strips, so that all multiprocessors have some; of large windows long ones read much less.
Strip choose_strip(const ConvRequest& conv, const Chip& chip) {
  Strip strip = conv.h().out > 1 ? Strip{} : Strip{1, 4};
  strip.rows = halved_to(strip.rows, most_along(conv.h()));
  strip.columns = halved_to(strip.columns, most_along(conv.w()));
  const s64 words = conv.pixels() * words_of(conv);
  constexpr s64 kSmall = 3;
  const s64 threads = std::max(conv.h().kernel, conv.w().kernel) <= kSmall ? 512 : 256;
  const s64 wanted = chip.multiprocessors * threads;
  while (strip.rows > 1 && words / (strip.rows * strip.columns) < wanted) strip.rows /= 2;
  while (strip.columns > 1 && words / (strip.rows * strip.columns) < wanted) strip.columns /= 2;
  return strip;
}

// What does not depend on where values lie.
Spec spec_of(const ConvRequest& conv, const Strip& strip) {
  return {.window = conv_window(conv),
          .at = {},
          .end = epilogue_spec(conv.product),
          .images = field_of(conv.geometry.batch),
          .channels = field_of(conv.geometry.out_channels),
          .x_access = 1,
          .y_access = 1,
          .rows = field_of(strip.rows),
          .columns = field_of(strip.columns),
          .apart_h = field_of(apart(conv.h())),
          .apart_w = field_of(apart(conv.w())),
          .move_h = field_of(taps_apart(conv.h())),
          .move_w = field_of(taps_apart(conv.w())),
          .rolled = is_rolled(conv)};
}

// Params::weights.
std::vector<std::byte> packed(const ConvRequest& conv, const Spec& spec) {
  const s64 channels = words(spec) * kWord, taps_h = conv.h().kernel, taps_w = conv.w().kernel;
  const std::span<const s8> weights = conv.weights.as<s8>();
  std::vector<std::byte> bytes(
      static_cast<size_t>(tap_word(spec, spec.window.taps_h, 0, 0) * channels * kWord));
  for (s64 i = 0; i < std::ssize(weights) * spec.columns; ++i) {
    const s64 j = i % spec.columns, s = i / spec.columns % taps_w;
    const s64 r = i / spec.columns / taps_w % taps_h, c = i / spec.columns / taps_w / taps_h;
    const s64 pixel = j * spec.move_w + s;
    const s32 word = tap_word(spec, field_of(r), field_of(j), field_of(pixel / kWord));
    bytes[static_cast<size_t>((word * channels + c) * kWord + pixel % kWord)] =
        static_cast<std::byte>(weights[static_cast<size_t>(i / spec.columns)]);
  }
  return bytes;
}

// Words of taps that the columns of a row meet.
s64 words_met(const Spec& spec) {
  s64 met = 0;
  for (s64 j = 0; j < spec.columns; ++j) {
    const s64 first = j * spec.move_w;
    met += (first + spec.window.taps_w - 1) / kWord - first / kWord + 1;
  }
  return met;
}

// Small windows are read and written as fast as their bytes move; large ones, and several channels of one, are bound by what a
// multiprocessor's cache gives and its units multiply.
f64 cost(const ConvRequest& conv, const Spec& spec, const Chip& chip) {
  const f64 moving = bytes_cost(conv_bytes(conv), chip);
  constexpr f64 kWarp = 32;
  if (!spec.rolled && conv.cout() == 1) {
    const f64 words = static_cast<f64>(spec.rows * conv.h().kernel * words_met(spec));
    const f64 pixel_bytes = static_cast<f64>(in_rows(spec) * pixels(spec)) * kWord;
    const f64 reading = (pixel_bytes + words * 16) * kWarp / chip.costs().rate_cache;
    const f64 multiplying = words * kWord * kWord * kWarp / chip.costs().rate_dot_s8;
    const f64 warps = static_cast<f64>(items(spec)) / (kWarp * chip.multiprocessors);
    return std::max(moving, bytes_cost(0, chip) + warps * std::max(reading, multiplying));
  }
  const f64 rows = spec.rows, columns = spec.columns;
  const s64 loads = conv.cout() == 1 || conv.cout() % kWord == 0 ? 1 : kWord;
  const f64 reading =
      rows * kWord * static_cast<f64>(loads) + columns * kWarp * 16 / chip.costs().rate_cache;
  const f64 multiplying = rows * columns * kWord * kWord * kWarp / chip.costs().rate_dot_s8;
  const f64 steps = static_cast<f64>(conv.h().kernel * pixel_groups(spec));
  const f64 warps = static_cast<f64>(items(spec)) / (kWarp * chip.multiprocessors);
  return std::max(moving, bytes_cost(0, chip) + warps * steps * std::max(reading, multiplying));
}

Launch make_launch(const ConvRequest& conv, Spec spec, const BindArgs& bind) {
  spec.at = conv_operands(conv, bind);
  spec.end.t_fits = conv.sums_fit();
  ConvRequest whole = conv;  // accesses go over the channels of all groups
  whole.geometry.groups = 1;
  spec.x_access = field_of(input_access(whole, bind, kWord));
  spec.y_access = field_of(output_access(whole, bind, kWord));
  return {.source = source_of("depthwise", spec),
          .shape = {.blocks = ceil_div(items(spec), s64{depthwise::kThreads}),
                    .threads = depthwise::kThreads,
                    .programmatic_dependent = true}};
}

BlobRecipe packing(const ConvRequest& conv, const Spec& spec) {
  return {fmt::format("depthwise {} {}", spec.columns, spec.move_w), {conv.weights}, [conv, spec] {
            return packed(conv, spec);
          }};
}

Candidate candidate_for(const LowerRequest& request, const ConvRequest& conv, const Strip& strip) {
  const CudaDevice& device = device_of(request);
  const Spec spec = spec_of(conv, strip);
  Candidate candidate = conv_candidate(
      request, fmt::format("depthwise_{}x{}", strip.rows, strip.columns), Layout::nhwc);
  candidate.cost = cost(conv, spec, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_dot_s8 * device.chip().multiprocessors;
  set_step(
      candidate, device,
      {.make_launch = [conv, spec](const BindArgs& bind) { return make_launch(conv, spec, bind); },
       .recipes = [conv, spec](const BindArgs&) { return conv_blobs(conv, packing(conv, spec)); }},
      [product = conv.product](const StepData& data) {
        return depthwise::Params{data.input(kProductX), data.blob<s8>(0),
                                 epilogue_params(product, data, 1)};
      });
  return candidate;
}

}  // namespace

Offer lower_depthwise(const LowerRequest& request) {
  ConvRequest conv;
  std::string reason = read_conv(request, conv);
  if (reason.empty()) reason = reject(conv);
  if (!reason.empty()) return Reject{reason};
  const Strip best = choose_strip(conv, device_of(request).chip());
  Candidates candidates{candidate_for(request, conv, best)};
  if (!request.target.keep_others && request.target.tuning == nullptr) return candidates;
  for (const Strip& strip : kStrips) {
    if ((strip.rows != best.rows || strip.columns != best.columns) && fits(conv, strip))
      candidates.push_back(candidate_for(request, conv, strip));
  }
  return candidates;
}

}  // namespace octet::cuda
