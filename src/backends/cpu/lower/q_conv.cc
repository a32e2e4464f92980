// SPDX-License-Identifier: Apache-2.0
// QConv: depthwise and dense (grouped) 2-D convolution on nhwc codes.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/conv/conv_cost.h"
#include "backends/cpu/kernels/codes/conv/tile_conv.h"
#include "backends/cpu/kernels/codes/conv/tile_merge.h"
#include "backends/cpu/kernels/codes/conv/winograd.h"
#include "backends/cpu/kernels/codes/depthwise/depthwise_cost.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"

namespace octet {
namespace {

// A wider border costs more memory than copying a band of rows costs time.
constexpr s64 kMaxBorder = 8;

// What both kinds need of the request.
struct ConvRequest {
  ConvGeometry geometry;
  Epilogue epilogue;
  Tensor weights;
  ProductConstants constants;
  Shape input, output;
};

std::string read_any(const LowerRequest& request, ConvRequest& conv) {
  const Tensor* weights = request.constant(kProductWeights);
  if (weights == nullptr) return "the weights are not constant s8";
  conv.geometry = conv_geometry(request.node, request.inputs[kProductX].shape, weights->shape());
  conv.epilogue = epilogue_of(request.node);
  conv.weights = *weights;
  conv.input = request.inputs[kProductX].shape;
  conv.output = request.outputs[0].shape;
  if (conv.epilogue.zero_point(kProductWeights) != 0) return "the weights' zero point is not 0";
  if (conv.geometry.in_channels == 0 || conv.geometry.out_channels == 0)
    return "there are no channels";
  return product_constants(request, conv.constants);
}

std::string read(const LowerRequest& request, ConvRequest& conv) {
  if (std::string reason = read_any(request, conv); !reason.empty()) return reason;
  return conv.weights.dtype() == Dtype::s8 ? "" : "the weights are not s8";
}

std::string read_depthwise(const LowerRequest& request, ConvRequest& conv) {
  if (std::string reason = read_any(request, conv); !reason.empty()) return reason;
  return conv.epilogue.sum ? "a sum with another value follows" : "";
}

// Fields that ConvSpec and DepthwiseSpec have in common.
template <class Spec>
void fill(Spec& spec, const ConvRequest& conv, const BindArgs& bind) {
  spec.geometry = conv.geometry;
  spec.bias = conv.constants.bias_values();
  spec.multiplier = conv.constants.multiplier.as<f32>();
  spec.input_zero_point = conv.epilogue.zero_point(kProductX);
  spec.epilogue = epilogue_args(conv.epilogue, conv.constants.table_or_null());
  spec.input = nhwc_placement(conv.input, bind.inputs[kProductX]);
  spec.output = nhwc_placement(conv.output, bind.outputs[0]);
  if (conv.constants.has_residual())
    spec.residual = nhwc_placement(conv.output, bind.inputs[conv.constants.residual]);
}

ConvSpec dense_spec(const ConvRequest& conv, const BindArgs& bind) {
  ConvSpec spec;
  fill(spec, conv, bind);
  const s64 k = conv.weights.elements() / conv.geometry.out_channels;
  spec.weights = {conv.weights.as<s8>(), k, 1};
  return spec;
}

DepthwiseSpec depthwise_spec(const ConvRequest& conv, const BindArgs& bind) {
  DepthwiseSpec spec;
  fill(spec, conv, bind);
  if (conv.weights.dtype() == Dtype::s16) {
    spec.weights.wide = conv.weights.as<s16>();
  } else {
    spec.weights.narrow = conv.weights.as<s8>();
  }
  return spec;
}

std::function<ConvSpec()> dense_maker(const ConvRequest& conv, const BindArgs& bind) {
  return [conv, bind] { return dense_spec(conv, bind); };
}

std::function<DepthwiseSpec()> depthwise_maker(const ConvRequest& conv, const BindArgs& bind) {
  return [conv, bind] { return depthwise_spec(conv, bind); };
}

std::vector<Tensor> constants_of(const ConvRequest& conv) {
  return conv.constants.packed_with(conv.weights);
}

// Folded and merged as the geometry and the placements allow; the weights as they are, for the key, or turned for packing.
struct TileForm {
  FoldedConv folded;
  MergedConv merged;

  TileForm(const ConvSpec& spec, TileConstants constants)
      : folded(spec, constants), merged(folded.spec(), constants) {}
};

Preparation tile_packing(const ConvRequest& conv, const BindArgs& bind) {
  const ConvSpec spec = dense_spec(conv, bind);
  const TileForm form(spec, TileConstants::given);
  const std::string key = constants_key(spec.geometry, spec.constants()) +
                          (form.folded.input() ? " folded, " : ", ") +
                          TileConv::pack_key(kTileKernels[0], form.merged.spec());
  return preparation<PackedTiles>(key, constants_of(conv), [conv, bind] {
    const TileForm turned(dense_spec(conv, bind), TileConstants::turned);
    return TileConv::pack(kTileKernels[0], turned.merged.spec());
  });
}

// `Kernel` is TileConv, DenseConv, FlatDepthwise or DepthwiseConv; the table stays alive with the step.
template <class Kernel>
RunStep step_of(Kernel kernel, const ConvRequest& conv) {
  struct Step {
    Kernel kernel;
    Tensor table;
  };
  auto step = std::make_shared<const Step>(Step{std::move(kernel), conv.constants.table});
  const size_t residual = conv.constants.residual;
  return [step, residual](const StepArgs& args) {
    const bool given = residual != ProductConstants::kNoInput;
    step->kernel.run({.x = u8_input(args, kProductX),
                      .residual = given ? u8_input(args, residual) : nullptr,
                      .y = u8_output(args, 0),
                      .workspace = args.workspace,
                      .pool = pool_of(args)});
  };
}

template <class Kernel, class Row, class Spec>
RunStep bound(const Row& row, const Spec& spec, const ConvRequest& conv, const BindArgs& bind) {
  return step_of(Kernel(row, spec, bind.prepared_as<typename Kernel::Packed>()), conv);
}

void set_overwrites(Candidate& candidate, const ConvRequest& conv) {
  if (conv.constants.has_residual() && keeps_apart(conv.geometry.out_channels_per_group()))
    candidate.overwrites = {conv.constants.residual};
}

Candidate image_candidate(const LowerRequest& request, const char* kernel,
                          const ConvRequest& conv) {
  Candidate candidate = candidate_of(request, kernel, Layout::nhwc);
  const s64 border = window_border(conv.geometry.window);
  candidate.wanted_border = border <= kMaxBorder ? border : 0;
  candidate.strided = true;
  candidate.by_image = true;
  candidate.note = sum_note(request);
  return candidate;
}

}  // namespace

Offer lower_q_depthwise_flat(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_depthwise(request, conv); !reason.empty()) return Reject{reason};
  const EpilogueArgs epilogue = epilogue_args(conv.epilogue, conv.constants.table_or_null());
  if (const char* reason = flat_depthwise_reject(conv.geometry, epilogue, isa_of(request.target)))
    return Reject{reason};
  const FlatDepthwiseKernel& kernel = best_kernel(kFlatDepthwiseKernels, isa_of(request.target));
  const DepthwiseKernel& strided = best_kernel(kDepthwiseKernels, isa_of(request.target));
  Candidate candidate = image_candidate(request, kernel.name, conv);
  candidate.workspace_bytes =
      depthwise_workspace_bytes(strided, conv.geometry, request.target.threads);
  candidate.cost = flat_depthwise_cost(kernel, conv.geometry);
  candidate.macs_per_cycle = code_unit_rate(kernel.isa);
  candidate.prepare = [&kernel, &strided, conv](const BindArgs& bind) {
    const auto spec = depthwise_maker(conv, bind);
    return flat_depthwise_fits(spec()) ? packing<FlatDepthwise>(kernel, constants_of(conv), spec)
                                       : packing<DepthwiseConv>(strided, constants_of(conv), spec);
  };
  candidate.bind = [&kernel, &strided, conv](const BindArgs& bind) -> RunStep {
    const DepthwiseSpec spec = depthwise_spec(conv, bind);
    if (flat_depthwise_fits(spec)) return bound<FlatDepthwise>(kernel, spec, conv, bind);
    return bound<DepthwiseConv>(strided, spec, conv, bind);
  };
  return candidate;
}

Offer lower_q_depthwise(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_depthwise(request, conv); !reason.empty()) return Reject{reason};
  if (const char* reason = depthwise_reject(conv.geometry)) return Reject{reason};
  const DepthwiseKernel& kernel = best_kernel(kDepthwiseKernels, isa_of(request.target));
  Candidate candidate = image_candidate(request, kernel.name, conv);
  candidate.workspace_bytes =
      depthwise_workspace_bytes(kernel, conv.geometry, request.target.threads);
  candidate.cost = depthwise_cost(kernel, conv.geometry);
  candidate.macs_per_cycle = code_unit_rate(kernel.isa);
  candidate.prepare = [&kernel, conv](const BindArgs& bind) {
    return packing<DepthwiseConv>(kernel, constants_of(conv), depthwise_maker(conv, bind));
  };
  candidate.bind = [&kernel, conv](const BindArgs& bind) {
    return bound<DepthwiseConv>(kernel, depthwise_spec(conv, bind), conv, bind);
  };
  return candidate;
}

Offer lower_q_conv_tiles(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read(request, conv); !reason.empty()) return Reject{reason};
  if (const char* reason = tile_conv_reject(conv.geometry, isa_of(request.target)))
    return Reject{reason};
  const TileKernel& kernel = kTileKernels[0];
  Candidate candidate = image_candidate(request, kernel.name, conv);
  set_overwrites(candidate, conv);
  candidate.may_overwrite = [geometry = conv.geometry, input = conv.input](const BindArgs& bind) {
    return !tile_conv_overlaps(geometry, nhwc_placement(input, bind.inputs[kProductX]));
  };
  const ConvGeometry read = tile_geometry(conv.geometry);
  if (folds(conv.geometry)) candidate.wanted_border = 0;  // folding writes one
  candidate.writes_slices = merged_pixels(read) == 1;
  candidate.workspace_bytes = tile_conv_workspace_bytes(conv.geometry, request.target.threads);
  candidate.cost = tile_conv_cost(merged_geometry(read, merged_pixels(read)));
  candidate.macs_per_cycle = code_unit_rate(kernel.isa);
  candidate.prepare = [conv](const BindArgs& bind) {
    return std::vector<Preparation>{tile_packing(conv, bind)};
  };
  candidate.bind = [conv](const BindArgs& bind) {
    const TileForm form(dense_spec(conv, bind), TileConstants::given);
    return step_of(TileConv(kTileKernels[0], form.merged.spec(), bind.prepared_as<PackedTiles>(),
                            form.folded.input()),
                   conv);
  };
  return candidate;
}

Offer lower_q_conv_winograd(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read(request, conv); !reason.empty()) return Reject{reason};
  if (const char* reason = winograd_reject(conv.geometry, isa_of(request.target)))
    return Reject{reason};
  const WinogradKernel& kernel = kWinogradKernels[0];
  const ConvKernel& direct = best_kernel(kConstantConvKernels, isa_of(request.target));
  const int threads = request.target.threads;
  Candidate candidate = image_candidate(request, kernel.name, conv);
  candidate.workspace_bytes = std::max(winograd_workspace_bytes(conv.geometry, threads),
                                       conv_workspace_bytes(direct, conv.geometry, threads));
  candidate.cost = winograd_cost(conv.geometry);
  candidate.macs_per_cycle = kWinogradRate;
  candidate.prepare = [&kernel, &direct, conv](const BindArgs& bind) {
    const auto spec = dense_maker(conv, bind);
    return winograd_fits(spec()) ? packing<WinogradConv>(kernel, constants_of(conv), spec)
                                 : packing<DenseConv>(direct, constants_of(conv), spec);
  };
  candidate.bind = [&kernel, &direct, conv, threads](const BindArgs& bind) -> RunStep {
    ConvSpec spec = dense_spec(conv, bind);
    spec.threads = threads;
    if (winograd_fits(spec)) return bound<WinogradConv>(kernel, spec, conv, bind);
    return bound<DenseConv>(direct, spec, conv, bind);
  };
  return candidate;
}

namespace {

Candidate dense_candidate(const LowerRequest& request, const ConvKernel& kernel,
                          const ConvRequest& conv) {
  Candidate candidate = image_candidate(request, kernel.name, conv);
  set_overwrites(candidate, conv);
  candidate.writes_slices = true;
  candidate.workspace_bytes = conv_workspace_bytes(kernel, conv.geometry, request.target.threads);
  candidate.cost = dense_conv_cost(kernel, conv.geometry);
  candidate.macs_per_cycle = conv_unit_rate(kernel);
  candidate.prepare = [&kernel, conv](const BindArgs& bind) {
    return packing<DenseConv>(kernel, constants_of(conv), dense_maker(conv, bind));
  };
  candidate.bind = [&kernel, conv](const BindArgs& bind) {
    return bound<DenseConv>(kernel, dense_spec(conv, bind), conv, bind);
  };
  return candidate;
}

}  // namespace

Offer lower_q_conv(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read(request, conv); !reason.empty()) return Reject{reason};
  if (const char* reason = conv_reject(conv.geometry)) return Reject{reason};
  const Isa isa = isa_of(request.target);
  // Weights that are sorted before need pixels that are: for few output channels that may not pay.
  const ConvKernel& sorted = best_kernel(kConstantConvKernels, isa);
  const ConvKernel& plain = best_kernel(kConvKernels, isa);
  Candidates candidates{dense_candidate(request, sorted, conv)};
  if (plain.run != sorted.run) candidates.push_back(dense_candidate(request, plain, conv));
  return candidates;
}

}  // namespace octet
