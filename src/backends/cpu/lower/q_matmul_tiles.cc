// SPDX-License-Identifier: Apache-2.0
// QMatMul of two activations on matrix tiles.
#include <memory>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/matmul/tile_matmul.h"
#include "backends/cpu/lower/q_matmul.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"

namespace octet {
namespace {

std::string read(const LowerRequest& request, MatmulRequest& product) {
  if (std::string reason = read_activations(request, product); !reason.empty()) return reason;
  for (size_t i = kProductResidual; i < request.inputs.size(); ++i) {
    if (i != kProductTable && request.has_input(i)) return "a sum with another value follows";
  }
  const char* reason = tile_matmul_reject(product.views, isa_of(request.target));
  return reason != nullptr ? reason : "";
}

}  // namespace

Offer lower_q_matmul_tiles(const LowerRequest& request) {
  MatmulRequest product;
  if (std::string reason = read(request, product); !reason.empty()) return Reject{reason};
  const TileProductKernel& kernel = kTileProductKernels[0];
  struct Step {
    TileMatmul kernel;
    MatmulRequest product;
  };
  const auto step =
      std::make_shared<const Step>(Step{TileMatmul(kernel, activations_spec(product)), product});
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  candidate.macs_per_cycle = code_unit_rate(kernel.isa);
  candidate.note = "b is packed at run time";
  candidate.workspace_bytes = step->kernel.workspace_bytes(request.target.threads);
  candidate.bind = [step](const BindArgs&) -> RunStep {
    return [step](const StepArgs& args) {
      step->kernel.run({u8_input(args, kProductX), step->product.b_of(args), nullptr,
                        u8_output(args, 0), args.workspace, pool_of(args)});
    };
  };
  return candidate;
}

}  // namespace octet
