// SPDX-License-Identifier: Apache-2.0
// Depthwise QConv: kernels/depthwise.cu.
#include <algorithm>
#include <numeric>

#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kWord = 4;             // channels of a thread, and taps of a word
constexpr s64 kLargestUnrolled = 7;  // taps of an axis that are code of their own
constexpr int kThreads = 128;

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

// Few outputs: short strips, so that all multiprocessors have some.
Strip choose_strip(const ConvRequest& conv, const Chip& chip) {
  Strip strip = conv.h().out > 1 ? Strip{} : Strip{1, 4};
  strip.rows = halved_to(strip.rows, most_along(conv.h()));
  strip.columns = halved_to(strip.columns, most_along(conv.w()));
  const s64 words = conv.pixels() * words_of(conv);
  const s64 wanted = s64{chip.multiprocessors} * 1024;
  while (strip.rows > 1 && words / (strip.rows * strip.columns) < wanted) strip.rows /= 2;
  while (strip.columns > 1 && words / (strip.rows * strip.columns) < wanted) strip.columns /= 2;
  if (!is_rolled(conv) && (conv.h().kernel > 3 || taps_apart(conv.h()) > 1))
    strip.rows = std::min<s64>(strip.rows, 2);
  return strip;
}

s64 pixel_groups(const ConvRequest& conv, const Strip& strip) {
  return ceil_div((strip.columns - 1) * taps_apart(conv.w()) + conv.w().kernel, kWord);
}

// [tap row][output column][group of pixels][channel] words of four taps, those between which the window lies being zero.
std::vector<std::byte> packed(const ConvRequest& conv, const Strip& strip) {
  const s64 channels = words_of(conv) * kWord, taps_h = conv.h().kernel;
  const s64 taps_w = conv.w().kernel, groups = pixel_groups(conv, strip);
  const std::span<const s8> weights = conv.weights.as<s8>();
  std::vector<std::byte> bytes(
      static_cast<size_t>(taps_h * strip.columns * groups * channels * kWord));
  for (s64 i = 0; i < std::ssize(weights) * strip.columns; ++i) {
    const s64 j = i % strip.columns, s = i / strip.columns % taps_w;
    const s64 r = i / strip.columns / taps_w % taps_h, c = i / strip.columns / taps_w / taps_h;
    const s64 pixel = j * taps_apart(conv.w()) + s;
    const s64 word = ((r * strip.columns + j) * groups + pixel / kWord) * channels + c;
    bytes[static_cast<size_t>(word * kWord + pixel % kWord)] =
        static_cast<std::byte>(weights[static_cast<size_t>(i / strip.columns)]);
  }
  return bytes;
}

// Strips of four channels: threads.
s64 items_of(const ConvRequest& conv, const Strip& strip) {
  const auto blocks = [](const WindowAxis& axis, s64 size) {
    return ceil_div(ceil_div(axis.out, apart(axis)), size) * apart(axis);
  };
  return conv.geometry.batch * blocks(conv.h(), strip.rows) * blocks(conv.w(), strip.columns) *
         words_of(conv);
}

// Small windows are read and written as fast as their bytes move; large ones, and several channels of one, are bound by what a
// multiprocessor's cache gives and its units multiply.
f64 cost(const ConvRequest& conv, const Strip& strip, const Chip& chip) {
  const f64 moving = bytes_cost(conv_bytes(conv), chip);
  if (!is_rolled(conv) && conv.cout() == 1) return moving;
  constexpr f64 kWarp = 32;
  const f64 rows = static_cast<f64>(strip.rows), columns = static_cast<f64>(strip.columns);
  const s64 loads = conv.cout() == 1 || conv.cout() % kWord == 0 ? 1 : kWord;
  const f64 reading =
      rows * kWord * static_cast<f64>(loads) + columns * kWarp * 16 / chip.costs().rate_cache;
  const f64 multiplying = rows * columns * kWord * kWord * kWarp / chip.costs().rate_dot_s8;
  const f64 steps = static_cast<f64>(conv.h().kernel * pixel_groups(conv, strip));
  const f64 warps = static_cast<f64>(items_of(conv, strip)) / (kWarp * chip.multiprocessors);
  return std::max(moving, bytes_cost(0, chip) + warps * steps * std::max(reading, multiplying));
}

Launch make_launch(const ConvRequest& conv, const Strip& strip, const BindArgs& bind) {
  Launch launch{.source = {"depthwise", {}}, .shape = {}};
  set_window(launch.source, conv);
  set_epilogue(launch.source, conv.product);
  launch.source.set("T_FITS", s64{conv.sums_fit()});
  set_operands(launch.source, conv, bind);
  ConvRequest whole = conv;  // accesses go over the channels of all groups
  whole.geometry.groups = 1;
  launch.source.set("VEC", input_access(whole, bind, kWord));
  launch.source.set("OUT_VEC", output_access(whole, bind, kWord));
  launch.source.set("IMAGES", conv.geometry.batch);
  launch.source.set("CHANNELS", conv.geometry.out_channels);
  launch.source.set("ROWS", strip.rows), launch.source.set("COLS", strip.columns);
  launch.source.set("APART_H", apart(conv.h())), launch.source.set("APART_W", apart(conv.w()));
  launch.source.set("MOVE_H", taps_apart(conv.h()));
  launch.source.set("MOVE_W", taps_apart(conv.w()));
  launch.source.set("ROLLED", s64{is_rolled(conv)});
  launch.shape = {.blocks = ceil_div(items_of(conv, strip), s64{kThreads}),
                  .threads = kThreads,
                  .programmatic_dependent = true};
  return launch;
}

Candidate candidate_for(const LowerRequest& request, const ConvRequest& conv, const Strip& strip) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = conv_candidate(
      request, fmt::format("depthwise_{}x{}", strip.rows, strip.columns), Layout::nhwc);
  candidate.cost = cost(conv, strip, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_dot_s8 * device.chip().multiprocessors;
  set_step(candidate, device,
           {.make_launch = [conv,
                            strip](const BindArgs& bind) { return make_launch(conv, strip, bind); },
            .recipes =
                [conv, strip](const BindArgs&) {
                  return conv_blobs(
                      conv, {fmt::format("depthwise {} {}", strip.columns, taps_apart(conv.w())),
                             {conv.weights},
                             [conv, strip] { return packed(conv, strip); }});
                }},
           [product = conv.product](const StepData& data) {
             return params::ConvParams{data.input(kProductX), data.blob<s8>(0),
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
