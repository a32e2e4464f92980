// SPDX-License-Identifier: Apache-2.0
// QConv of narrow groups: fewer and wider ones, whose weights between the groups that were are zeros. By warpgroups one group of all channels, as rows are too
// short for the tensor memory accelerator; by mma.sync so many together that a load is of 16 bytes. The products of zeros cost less than rows of a few bytes do.
#include "backends/cuda/lower/conv_request.h"

namespace octet::cuda {
namespace {

constexpr s64 kMostWeights = 12 << 20;  // bytes, zeros included
constexpr s64 kWidestGroup = 64;        // input channels of several together

std::string reject_grouped(const ConvRequest& conv) {
  if (conv.geometry.groups == 1) return "it has one group";
  if (conv.cin() == 1) return "each group is one channel";
  return {};
}

Offer one_group(const LowerRequest& request, const ConvRequest& conv) {
  const ConvGeometry& geometry = conv.geometry;
  const s64 bytes =
      geometry.out_channels * geometry.in_channels * geometry.window.kernel_elements();
  if (bytes > kMostWeights)
    return Reject{
        fmt::format("with zeros between its groups the weights would take {} MiB", bytes >> 20)};
  Offer offer = conv_wgmma_offer(request, with_groups(conv, 1), Layout::nhwc);
  if (Candidates* candidates = std::get_if<Candidates>(&offer)) {
    for (Candidate& candidate : *candidates) candidate.kernel = "grouped_" + candidate.kernel;
  }
  return offer;
}

Offer wider_groups(const LowerRequest& request, const ConvRequest& conv) {
  Candidates all;
  const s64 groups = conv.geometry.groups;
  for (s64 each = 2; groups % each == 0 && each * conv.cin() <= kWidestGroup; each *= 2) {
    for (Candidate candidate :
         conv_mma_candidates(request, with_groups(conv, groups / each), Layout::nhwc)) {
      candidate.kernel = fmt::format("grouped{}_{}", each, candidate.kernel);
      all.push_back(std::move(candidate));
    }
  }
  if (all.empty()) return Reject{"its groups are wide, or not of an even number"};
  return all;
}

}  // namespace

ConvRequest with_groups(const ConvRequest& conv, s64 groups) {
  const s64 each = conv.geometry.groups / groups, taps = conv.geometry.window.kernel_elements();
  ConvRequest result = conv;
  result.geometry.groups = groups;
  const s64 channels = result.cin();
  result.strides = {.channel = taps * channels, .cin = 1, .tap = channels};
  result.keep_sources();
  result.weights = Tensor(Dtype::s8, {conv.geometry.out_channels, taps, channels});
  s8* to = result.weights.mutable_as<s8>().data();
  for (s64 c = 0; c < conv.geometry.out_channels; ++c) {
    const s64 first = c / conv.cout() % each * conv.cin();
    conv.for_each_weight(c, [&](s64 tap, s64 i, s8 weight) {
      to[(c * taps + tap) * channels + first + i] = weight;
    });
  }
  return result;
}

Offer lower_conv_grouped(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_conv(request, conv); !reason.empty()) return Reject{reason};
  if (std::string reason = reject_grouped(conv); !reason.empty()) return Reject{reason};
  const bool by_groups_of_warps =
      device_of(request).chip().reject_without({Instruction::wgmma, Instruction::tma}).empty();
  return by_groups_of_warps ? one_group(request, conv) : wider_groups(request, conv);
}

}  // namespace octet::cuda
