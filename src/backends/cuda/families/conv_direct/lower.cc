// SPDX-License-Identifier: Apache-2.0
// QConv by a thread for each output.
#include <algorithm>

#include "backends/cuda/families/conv_direct/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/product.h"
#include "backends/cuda/lower/window.h"
#include "core/divide.h"
#include "ops/shared/conv.h"

namespace octet::cuda {
namespace {

using conv_direct::Spec;

struct DirectRequest {
  Product product;
  ConvGeometry geometry;
  Tensor weights;  // s8 or s16
  Shape x, y;

  s64 pixels() const { return geometry.batch * geometry.window.out_elements(); }
  s64 channels() const { return geometry.out_channels; }
};

std::string read(const LowerRequest& request, DirectRequest& conv) {
  const Tensor* weights = request.constant(kProductWeights);
  if (weights == nullptr) return "the weights are not constant";
  if (weights->dtype() != Dtype::s8 && weights->dtype() != Dtype::s16)
    return "the weights are neither s8 nor s16";
  conv.weights = *weights;
  conv.x = request.inputs[kProductX].shape;
  conv.y = request.outputs[0].shape;
  conv.geometry = conv_geometry(request.node, conv.x, weights->shape());
  constexpr s64 kMost = s64{1} << 30;
  if (conv.x.elements() == 0 || conv.y.elements() == 0) return "there is nothing to compute";
  if (conv.pixels() >= kMost) return "there are too many pixels";
  if (std::max(conv.channels(), conv.geometry.in_channels_per_group()) >= kMost)
    return "there are too many channels";
  if (std::string reason = read_product(request, conv.product); !reason.empty()) return reason;
  return conv.product.epilogue.zero_point(kProductWeights) != 0 ? "the weights have a zero point"
                                                                : "";
}

// From [channel][channel of x in the group][tap] to [channel of x][tap][channel].
template <class T>
std::vector<std::byte> turned(const DirectRequest& conv) {
  const std::span<const T> from = conv.weights.as<T>();
  const size_t channels = static_cast<size_t>(conv.channels()), k = from.size() / channels;
  std::vector<T> to(from.size());
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < k; ++i) to[i * channels + c] = from[c * k + i];
  }
  return bytes_of(std::span<const T>(to));
}

void set_places(Spec& spec, const DirectRequest& conv, const BindArgs& bind) {
  const Product& product = conv.product;
  spec.x = place_strides(conv.x, bind.inputs[kProductX]);
  spec.y = place_strides(conv.y, bind.outputs[0]);
  if (product.has_residual) spec.residual = place_strides(conv.y, bind.inputs[kProductResidual]);
  if (product.addend_row) {
    spec.addend = {.n = 0, .c = 1, .d = 0, .h = 0, .w = 0};
  } else if (product.has_addend) {
    spec.addend = place_strides(conv.y, bind.inputs[kProductAddend]);
  }
}

// Channels of a thread: four where each reads its own and all lie together.
s32 width_of(const DirectRequest& conv, const Spec& spec, const BindArgs& bind) {
  if (!conv.geometry.depthwise() || spec.x.c != 1 || spec.y.c != 1) return 1;
  s64 width = common_power(4, {conv.channels(), bind.input_offset(kProductX),
                               bind.output_offset(0) / conv.product.element_bytes()});
  const auto fits = [&](const PlaceStrides& strides) {
    width = common_power(width, {strides.n, strides.d, strides.h, strides.w});
  };
  fits(spec.x), fits(spec.y);
  if (conv.product.has_residual) {
    fits(spec.residual);
    width = common_power(width, {bind.input_offset(kProductResidual)});
  }
  if (conv.product.has_addend && !conv.product.addend_row) {
    fits(spec.addend);
    width = common_power(width, {bind.input_offset(kProductAddend)});
  }
  return width == 4 ? 4 : 1;
}

Launch make_launch(const CudaDevice& device, const DirectRequest& conv, const BindArgs& bind) {
  Spec spec{.window = spatial_window(conv.geometry.window, false),
            .x = {},
            .y = {},
            .residual = {},
            .addend = {},
            .end = epilogue_spec(conv.product),
            .x_signed = conv.product.x_s8,
            .x_zero_point = conv.product.epilogue.zero_point(kProductX),
            .wide_weights = conv.weights.dtype() == Dtype::s16,
            .pixels = field_of(conv.pixels()),
            .cin = field_of(conv.geometry.in_channels_per_group()),
            .cout = field_of(conv.geometry.out_channels_per_group()),
            .channels = field_of(conv.channels()),
            .vec = 1};
  set_places(spec, conv, bind);
  spec.vec = width_of(conv, spec, bind);
  Launch launch{.source = source_of("conv_direct", spec),
                .shape = blocks_for(device, conv.pixels() * conv.channels() / spec.vec,
                                    conv_direct::kThreads)};
  return launch;
}

std::vector<BlobRecipe> blobs(const DirectRequest& conv) {
  std::vector<BlobRecipe> all{{"conv_direct", {conv.weights}, [conv] {
                                 return conv.weights.dtype() == Dtype::s8 ? turned<s8>(conv)
                                                                          : turned<s16>(conv);
                               }}};
  // The kernel takes the zero point from each code.
  const s64 channels = conv.channels();
  for (BlobRecipe& blob : epilogue_blobs(conv.product, Tensor(), channels, [channels] {
         return std::vector<s32>(static_cast<size_t>(channels));
       }))
    all.push_back(std::move(blob));
  return all;
}

// A thread loads a code and a weight for each of its products, one after the other: no tile holds them for others. So the caches' lanes
// bound it, or where few threads run how long a load takes.
f64 direct_cost(const LowerRequest& request, const DirectRequest& conv, const Chip& chip) {
  // From product to product: as long as a load takes, for three at a time.
  const Costs& costs = chip.costs();
  const f64 step = costs.conv_direct_latency / 3;
  const s64 outputs = conv.pixels() * conv.channels();
  const s64 depth = conv.geometry.in_channels_per_group() * conv.geometry.window.kernel_elements();
  const f64 loads = 2 * static_cast<f64>(outputs) * static_cast<f64>(depth);
  const s64 rounds = ceil_div(outputs, chip.multiprocessors * chip.threads);
  return bytes_cost(moved_bytes(request), chip) + costs.tile_begin +
         std::max(loads / (costs.conv_direct_load_rate * chip.multiprocessors),
                  static_cast<f64>(rounds * depth) * step);
}

}  // namespace

Offer lower_conv_direct(const LowerRequest& request) {
  DirectRequest conv;
  if (std::string reason = read(request, conv); !reason.empty()) return Reject{reason};
  const bool image = conv.x.rank() == 4;
  Candidate candidate = candidate_of(request, "conv_direct", image ? Layout::nhwc : Layout::linear);
  candidate.strided = candidate.writes_slices = image;
  candidate.by_image = true;
  const CudaDevice& device = device_of(request);
  candidate.macs_per_cycle =
      device.chip().costs().rate_multiply_s32 * device.chip().multiprocessors;
  candidate.cost = direct_cost(request, conv, device.chip());
  set_step(candidate, device,
           {.make_launch = [&device,
                            conv](const BindArgs& bind) { return make_launch(device, conv, bind); },
            .recipes = [conv](const BindArgs&) { return blobs(conv); }},
           [product = conv.product](const StepData& data) {
             return conv_direct::Params{data.input(kProductX), data.blob<u8>(0),
                                        epilogue_params(product, data, 1)};
           });
  return candidate;
}

}  // namespace octet::cuda
