// SPDX-License-Identifier: Apache-2.0
// Depthwise QConv: kernels/depthwise.cu.
#include <algorithm>

#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kWord = 4;  // channels of a thread, and taps of a word
constexpr s64 kLargestWindow = 7;
constexpr int kThreads = 128;

struct Strip {
  s64 rows = 4, columns = 2;
};

std::string reject(const ConvRequest& conv) {
  if (!conv.geometry.depthwise()) return "it is not depthwise";
  if (conv.w().dilation != 1) return "it is dilated along rows";
  if (std::max(conv.h().kernel, conv.w().kernel) > kLargestWindow) return "the window is large";
  return {};
}

constexpr Strip kStrips[] = {{4, 2}, {2, 2}, {2, 1}, {1, 1}};

// Four channels each; the last may have fewer.
s64 words_of(const ConvRequest& conv) { return ceil_div(conv.geometry.out_channels, kWord); }

// Few outputs: short strips, so that all multiprocessors have some.
Strip choose_strip(const ConvRequest& conv, const Chip& chip) {
  Strip strip;
  const s64 words = conv.pixels() * words_of(conv);
  const s64 wanted = s64{chip.multiprocessors} * 1024;
  while (strip.rows > 1 && words / (strip.rows * strip.columns) < wanted) strip.rows /= 2;
  if (words / (strip.rows * strip.columns) < wanted) strip.columns = 1;
  if (conv.h().kernel > 3 || conv.h().stride > 1) strip.rows = std::min<s64>(strip.rows, 2);
  return strip;
}

s64 pixel_groups(const ConvRequest& conv, const Strip& strip) {
  return ceil_div((strip.columns - 1) * conv.w().stride + conv.w().kernel, kWord);
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
    const s64 pixel = j * conv.w().stride + s;
    const s64 word = ((r * strip.columns + j) * groups + pixel / kWord) * channels + c;
    bytes[static_cast<size_t>(word * kWord + pixel % kWord)] =
        static_cast<std::byte>(weights[static_cast<size_t>(i / strip.columns)]);
  }
  return bytes;
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
  const s64 items = conv.geometry.batch * ceil_div(conv.h().out, strip.rows) *
                    ceil_div(conv.w().out, strip.columns) * words_of(conv);
  launch.shape = {.blocks = ceil_div(items, s64{kThreads}),
                  .threads = kThreads,
                  .programmatic_dependent = true};
  return launch;
}

Candidate candidate_for(const LowerRequest& request, const ConvRequest& conv, const Strip& strip) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = conv_candidate(
      request, fmt::format("depthwise_{}x{}", strip.rows, strip.columns), Layout::nhwc);
  candidate.cost = bytes_cost(conv_bytes(conv), device.chip());
  set_step(candidate, device,
           {.make_launch = [conv,
                            strip](const BindArgs& bind) { return make_launch(conv, strip, bind); },
            .recipes =
                [conv, strip](const BindArgs&) {
                  return conv_blobs(conv,
                                    {fmt::format("depthwise {} {}", strip.columns, conv.w().stride),
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
    if (strip.rows != best.rows || strip.columns != best.columns)
      candidates.push_back(candidate_for(request, conv, strip));
  }
  return candidates;
}

}  // namespace octet::cuda
