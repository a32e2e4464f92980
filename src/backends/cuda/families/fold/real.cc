// SPDX-License-Identifier: Apache-2.0
// Conv of few channels, as the first of a network, whose image of f32 is rounded to 16 bits for it: the kernel of this folder rounds what it folds.
#include <algorithm>

#include "backends/cuda/families/fold/fold.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/float_product.h"

namespace octet::cuda {
namespace {

FloatProduct folded(const FloatProduct& conv, const Fold& fold) {
  FloatProduct result = conv;
  result.geometry = fold.folded(conv.geometry);
  const s64 channels = result.geometry.in_channels, outputs = conv.geometry.out_channels,
            k_all = conv.cin() * conv.geometry.window.kernel_elements();
  result.x = {conv.geometry.batch, fold.cell, fold.height, fold.width};
  result.weight_channel = fold.taps_h * channels, result.weight_cin = 1;
  result.weight_tap = channels;
  result.weights_form = fmt::format("cells of {} by steps of {}, {}x{} taps", fold.cell, fold.step,
                                    fold.taps_h, fold.taps_w);
  result.made_weights = [conv, fold, outputs, channels, k_all] {
    Tensor weights(Dtype::f32, {outputs, fold.taps_h, 1, channels});
    std::span<f32> to = weights.mutable_as<f32>();
    std::ranges::fill(to, 0.0f);
    for (s64 c = 0; c < outputs; ++c) {
      for (s64 k = 0; k < k_all; ++k)
        to[static_cast<size_t>(c * fold.taps_h * channels + fold.place(conv.geometry, k))] =
            conv.weight(c, k);
    }
    return weights;
  };
  return result;
}

// Of an image as a caller gives it.
fold::Spec spec_of(const FloatProduct& conv, const Fold& fold) {
  fold::Spec spec = fold_spec(conv.geometry, fold);
  const s64 height = conv.x[2], width = conv.x[3];
  spec.number = conv.x_type;
  spec.x = {conv.x[1] * height * width, width, 1};
  spec.x_channel = height * width;
  return spec;
}

}  // namespace

Offer offer_image_product(const LowerRequest& request) {
  FloatProduct product;
  if (std::string reason = read_float_product(request, product); !reason.empty())
    return Reject{reason};
  if (product.rows) return Reject{"it is no convolution"};
  if (std::string reason = reject_fold(product.geometry, product.x_type); !reason.empty())
    return Reject{reason};
  const Fold fold(product.geometry, product.x_type);
  Offer offer = product_wgmma_offer(request, folded(product, fold));
  Candidates* candidates = std::get_if<Candidates>(&offer);
  if (candidates == nullptr) return offer;
  const fold::Spec spec = spec_of(product, fold);
  const Chip& chip = device_of(request).chip();
  const f64 image = static_cast<f64>(product.x.elements()) * sizeof(f32),
            cells = static_cast<f64>(fold.bytes(product.geometry.batch));
  // The image is taken as it lies: the parts' costs lack a change of layout, of which both sides are 16 bits.
  const f64 own = bytes_cost(cells + image, chip) - bytes_cost(image, chip);
  for (Candidate& candidate : *candidates) {
    candidate = behind_fold(request,
                            {.input = product.x_input,
                             .fold = fold,
                             .images = product.geometry.batch,
                             .spec = [spec](const BindArgs&) { return spec; }},
                            std::move(candidate));
    candidate.inputs[product.x_input] = Layout::linear;
    candidate.cost += own;
  }
  return offer;
}

}  // namespace octet::cuda
