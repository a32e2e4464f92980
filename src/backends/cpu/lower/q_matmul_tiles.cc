// SPDX-License-Identifier: Apache-2.0
// QMatMul of two activations on matrix tiles.
#include <memory>

#include "backends/cpu/kernels/matmul/tile_matmul.h"
#include "backends/cpu/lower/q_common.h"

namespace octet {
namespace {

struct ProductRequest {
  MatMulViews views;
  Epilogue epilogue;
  ProductConstants constants;
};

std::string read(const LowerRequest& request, ProductRequest& product) {
  product.views = matmul_views(request.node, request.inputs[kProductX].shape,
                               request.inputs[kProductWeights].shape);
  product.epilogue = epilogue_of(request.node);
  if (product.views.geometry.k == 0 || product.views.geometry.n == 0) return "the product is empty";
  if (request.constant(kProductWeights) != nullptr) return "b is a constant";
  if (request.inputs[kProductWeights].dtype != Dtype::u8) return "b's codes are not u8";
  for (size_t i = kProductResidual; i < request.inputs.size(); ++i) {
    if (i != kProductTable && request.has_input(i)) return "a sum with another value follows";
  }
  if (const char* reason = tile_matmul_reject(product.views, request.target.isa)) return reason;
  return product_constants(request, product.constants);
}

MatmulSpec spec_of(const ProductRequest& product) {
  MatmulSpec spec;
  spec.views = product.views;
  spec.zero_a = product.epilogue.zero_point(kProductX);
  spec.zero_b = product.epilogue.zero_point(kProductWeights);
  spec.bias = product.constants.bias_values();
  spec.multiplier = product.constants.multiplier.as<f32>();
  spec.epilogue = epilogue_args(product.epilogue, product.constants.table_or_null());
  return spec;
}

}  // namespace

Offer lower_q_matmul_tiles(const LowerRequest& request) {
  ProductRequest product;
  if (std::string reason = read(request, product); !reason.empty()) return Reject{reason};
  const TileProductKernel& kernel = kTileProductKernels[0];
  struct Step {
    TileMatmul kernel;
    Tensor table;
  };
  const auto step = std::make_shared<const Step>(
      Step{TileMatmul(kernel, spec_of(product)), product.constants.table});
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  candidate.note = "b is packed at run time";
  candidate.workspace_bytes = step->kernel.workspace_bytes(request.target.threads);
  candidate.bind = [step](const BindArgs&) -> RunStep {
    return [step](const StepArgs& args) {
      step->kernel.run({u8_input(args, kProductX), u8_input(args, kProductWeights), nullptr,
                        u8_output(args, 0), args.workspace, args.pool});
    };
  };
  return candidate;
}

}  // namespace octet
