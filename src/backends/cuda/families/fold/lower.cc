// SPDX-License-Identifier: Apache-2.0
// QConv of few channels, as the first of a network: blocks of pixels become pixels of many channels (the kernel of this folder), whose convolution
// has stride 1 and no padding. Neighbouring cells of a row lie together, so all taps of a row are channels of one pixel.
#include "backends/cuda/families/fold/fold.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"

namespace octet::cuda {
namespace {

ConvRequest folded(const ConvRequest& conv, const Fold& fold) {
  ConvRequest result = conv;
  result.geometry = fold.folded(conv.geometry);
  const s64 channels = result.geometry.in_channels, outputs = conv.geometry.out_channels;
  result.x = {conv.geometry.batch, channels, fold.height, conv.w().out};
  result.strides = {.channel = fold.taps_h * channels, .cin = 1, .tap = channels};
  result.weights = Tensor(Dtype::s8, {outputs, fold.taps_h, 1, channels});
  s8* to = result.weights.mutable_as<s8>().data();
  for (s64 i = 0; i < outputs * conv.k(); ++i) {
    const s64 c = i / conv.k(), k = i % conv.k();
    to[c * fold.taps_h * channels + fold.place(conv.geometry, k)] = conv.weight(c, k);
  }
  return result;
}

fold::Spec placed_spec(const ConvRequest& conv, const Fold& fold, const BindArgs& bind) {
  fold::Spec spec = fold_spec(conv.geometry, fold);
  spec.x = conv.input_strides(bind.inputs[kProductX]);
  spec.zero_point = conv.product.epilogue.zero_point(kProductX);
  return spec;
}

}  // namespace

Offer lower_conv_folded(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_conv(request, conv); !reason.empty()) return Reject{reason};
  if (std::string reason = reject_fold(conv.geometry, Number::u8); !reason.empty())
    return Reject{reason};
  const Fold fold(conv.geometry, Number::u8);
  Offer offer = conv_wgmma_offer(request, folded(conv, fold), Layout::nhwc);
  Candidates* candidates = std::get_if<Candidates>(&offer);
  if (candidates == nullptr) return offer;
  for (Candidate& candidate : *candidates) {
    candidate = behind_fold(
        request,
        {.input = kProductX,
         .fold = fold,
         .images = conv.geometry.batch,
         .spec = [conv, fold](const BindArgs& bind) { return placed_spec(conv, fold, bind); }},
        std::move(candidate));
    candidate.cost +=
        bytes_cost(static_cast<f64>(fold.bytes(conv.geometry.batch) + conv.x.elements()),
                   device_of(request).chip());
  }
  return offer;
}

}  // namespace octet::cuda
