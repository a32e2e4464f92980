// SPDX-License-Identifier: Apache-2.0
// QMatMul by a constant matrix: its rows are the pixels of a 1x1 convolution.
#include "backends/cuda/lower/conv_request.h"
#include "ops/shared/matmul_views.h"

namespace octet::cuda {

std::string read_linear(const LowerRequest& request, ConvRequest& conv) {
  const Tensor* weights = request.constant(kProductWeights);
  if (weights == nullptr || weights->dtype() != Dtype::s8) return "b is not constant s8";
  if (has_permutation(request.node)) return "an operand or the result is turned";
  const Shape& x = request.inputs[kProductX].shape;
  const MatMulGeometry g = matmul_views(request.node, x, weights->shape()).geometry;
  if (g.k == 0 || request.outputs[0].shape.elements() == 0) return "there is nothing to compute";
  if (weights->elements() != g.k * g.n) return "b is a batch of matrices";
  conv.geometry = rows_as_pixels(x.elements() / g.k, g.k, g.n);
  conv.weights = *weights;
  conv.strides = {.channel = 1, .cin = g.n, .tap = 0};
  conv.x = x;
  conv.y = request.outputs[0].shape;
  conv.rows = true;
  if (std::string reason = reject_sizes(conv.geometry); !reason.empty()) return reason;
  if (std::string reason = read_product(request, conv.product); !reason.empty()) return reason;
  return conv.product.epilogue.zero_point(kProductWeights) != 0 ? "the weights have a zero point"
                                                                : "";
}

Offer lower_linear_wgmma(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_linear(request, conv); !reason.empty()) return Reject{reason};
  Offer offer = conv_wgmma_offer(request, conv, Layout::linear);
  if (Candidates* candidates = std::get_if<Candidates>(&offer)) {
    for (Candidate& candidate : *candidates) candidate.by_image = conv.x.rank() > 1;
  }
  return offer;
}

Offer lower_linear_mma(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_linear(request, conv); !reason.empty()) return Reject{reason};
  Candidates candidates = conv_mma_candidates(request, conv, Layout::linear);
  for (Candidate& candidate : candidates) candidate.by_image = conv.x.rank() > 1;
  return candidates;
}

}  // namespace octet::cuda
