// SPDX-License-Identifier: Apache-2.0
// QConv of 1x1 with few channels: neighbouring pixels become one of many channels, whose weights are a block for each along the diagonal. Rows
// are as long as the tensor memory accelerator asks for, or fill a step of k, and stores are wide; the products of zeros cost less than either.
#include "backends/cuda/lower/conv_request.h"

namespace octet::cuda {
namespace {

constexpr s64 kWidest = 128;  // input channels of a joined pixel

std::string reject_joined(const ConvRequest& conv) {
  if (!conv.pointwise()) return "the window is larger than a pixel";
  if (conv.geometry.groups != 1) return "it has groups";
  if (2 * conv.cin() > kWidest) return "it has many channels";
  return {};
}

// The values of channels, once for each of the pixels that are joined.
template <class T>
Tensor repeated(const Tensor& channels, s64 pixels) {
  Tensor all(channels.dtype(), {channels.elements() * pixels});
  const std::span<const T> from = channels.as<T>();
  const std::span<T> to = all.mutable_as<T>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i % from.size()];
  return all;
}

Tensor block_diagonal(const ConvRequest& conv, s64 pixels) {
  const s64 row = pixels * conv.cin();
  Tensor weights(Dtype::s8, {pixels * conv.cout(), row});
  s8* to = weights.mutable_as<s8>().data();
  for (s64 p = 0; p < pixels; ++p) {
    for (s64 c = 0; c < conv.cout(); ++c) {
      for (s64 k = 0; k < conv.cin(); ++k)
        to[(p * conv.cout() + c) * row + p * conv.cin() + k] = conv.weight(c, k);
    }
  }
  return weights;
}

}  // namespace

ConvRequest with_joined_pixels(const ConvRequest& conv, s64 pixels) {
  ConvRequest result = conv;
  result.keep_sources();
  result.geometry =
      rows_as_pixels(conv.pixels() / pixels, pixels * conv.cin(), pixels * conv.cout());
  result.weights = block_diagonal(conv, pixels);
  result.strides = {.channel = pixels * conv.cin(), .cin = 1, .tap = 0};
  result.rows = true;
  Product& product = result.product;
  if (product.bias) product.bias = repeated<s32>(product.bias, pixels);
  if (product.multiplier.elements() > 1)
    product.multiplier = repeated<f32>(product.multiplier, pixels);
  if (product.addend_row) product.addend_row = repeated<u8>(product.addend_row, pixels);
  return result;
}

Offer conv_joined_offer(const LowerRequest& request, const ConvRequest& conv) {
  if (std::string reason = reject_joined(conv); !reason.empty()) return Reject{reason};
  Candidates all;
  for (s64 pixels = 2; pixels * conv.cin() <= kWidest; pixels *= 2) {
    if (conv.pixels() % pixels != 0) break;
    Offer offer = conv_matrix_offer(request, with_joined_pixels(conv, pixels), Layout::nhwc);
    const Candidates* candidates = std::get_if<Candidates>(&offer);
    if (candidates == nullptr) continue;
    for (Candidate candidate : *candidates) {
      candidate.kernel = fmt::format("joined{}_{}", pixels, candidate.kernel);
      candidate.strided = candidate.writes_slices = false;
      candidate.by_image = conv.geometry.window.out_elements() % pixels == 0;
      all.push_back(std::move(candidate));
    }
  }
  if (all.empty()) return Reject{"no number of pixels makes a row of whole 16 bytes"};
  return all;
}

Offer lower_conv_joined(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_conv(request, conv); !reason.empty()) return Reject{reason};
  return conv_joined_offer(request, conv);
}

}  // namespace octet::cuda
