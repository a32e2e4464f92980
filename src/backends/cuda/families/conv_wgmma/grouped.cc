// SPDX-License-Identifier: Apache-2.0
// QConv of groups that are too narrow for the tensor memory accelerator: one group of all channels, whose weights between groups are zeros. The
// products of zeros cost less than rows of a few bytes do.
#include "backends/cuda/lower/conv_request.h"

namespace octet::cuda {
namespace {

constexpr s64 kMostWeights = 12 << 20;  // bytes, zeros included

std::string reject(const ConvRequest& conv) {
  const ConvGeometry& geometry = conv.geometry;
  if (geometry.groups == 1) return "it has one group";
  if (conv.cin() == 1) return "each group is one channel";
  const s64 bytes =
      geometry.out_channels * geometry.in_channels * geometry.window.kernel_elements();
  if (bytes > kMostWeights)
    return fmt::format("with zeros between its groups the weights would take {} MiB", bytes >> 20);
  return {};
}

ConvRequest as_one_group(const ConvRequest& conv) {
  const s64 channels = conv.geometry.in_channels, taps = conv.geometry.window.kernel_elements();
  ConvRequest result = conv;
  result.geometry.groups = 1;
  result.strides = {.channel = taps * channels, .cin = 1, .tap = channels};
  const Product& product = conv.product;
  result.sources = {conv.weights, product.bias, product.multiplier, product.table,
                    product.addend_row};
  result.weights = Tensor(Dtype::s8, {conv.geometry.out_channels, taps, channels});
  s8* to = result.weights.mutable_as<s8>().data();
  for (s64 c = 0; c < conv.geometry.out_channels; ++c) {
    const s64 first = c / conv.cout() * conv.cin();
    conv.for_each_weight(c, [&](s64 tap, s64 i, s8 weight) {
      to[(c * taps + tap) * channels + first + i] = weight;
    });
  }
  return result;
}

}  // namespace

Offer lower_conv_grouped(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_conv(request, conv); !reason.empty()) return Reject{reason};
  if (std::string reason = reject(conv); !reason.empty()) return Reject{reason};
  if (std::string reason =
          device_of(request).chip().reject_without({Instruction::wgmma, Instruction::tma});
      !reason.empty())
    return Reject{reason};
  Offer offer = conv_wgmma_offer(request, as_one_group(conv), Layout::nhwc);
  if (Candidates* candidates = std::get_if<Candidates>(&offer)) {
    for (Candidate& candidate : *candidates) candidate.kernel = "grouped_" + candidate.kernel;
  }
  return offer;
}

}  // namespace octet::cuda
