// SPDX-License-Identifier: Apache-2.0
// QConv by a thread for each output: kernels/conv_direct.cu.
#include <algorithm>

#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/product.h"
#include "backends/cuda/lower/window.h"
#include "core/divide.h"
#include "ops/shared/conv.h"

namespace octet::cuda {
namespace {

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

struct Places {
  AxisStrides x, y, residual{}, addend{};
};

Places places_of(const DirectRequest& conv, const BindArgs& bind) {
  Places places{axis_strides(conv.x, bind.inputs[kProductX]),
                axis_strides(conv.y, bind.outputs[0])};
  const Product& product = conv.product;
  if (product.has_residual) places.residual = axis_strides(conv.y, bind.inputs[kProductResidual]);
  if (product.addend_row) {
    places.addend = {0, 1, 0, 0, 0};
  } else if (product.has_addend) {
    places.addend = axis_strides(conv.y, bind.inputs[kProductAddend]);
  }
  return places;
}

// Channels of a thread: four where each reads its own and all lie together.
s64 width_of(const DirectRequest& conv, const Places& places, const BindArgs& bind) {
  if (!conv.geometry.depthwise() || places.x[1] != 1 || places.y[1] != 1) return 1;
  s64 width = common_power(4, {conv.channels(), bind.input_offset(kProductX),
                               bind.output_offset(0) / conv.product.element_bytes()});
  const auto fits = [&](const AxisStrides& strides) {
    width = common_power(width, {strides[0], strides[2], strides[3], strides[4]});
  };
  fits(places.x), fits(places.y);
  for (size_t i : {kProductResidual, kProductAddend}) {
    const bool residual = i == kProductResidual;
    const bool read =
        residual ? conv.product.has_residual : conv.product.has_addend && !conv.product.addend_row;
    if (!read) continue;
    fits(residual ? places.residual : places.addend);
    width = common_power(width, {bind.input_offset(i)});
  }
  return width == 4 ? 4 : 1;
}

Launch make_launch(const CudaDevice& device, const DirectRequest& conv, const BindArgs& bind) {
  Launch launch{.source = {"conv_direct", {}}, .shape = {}};
  KernelSource& source = launch.source;
  const Places places = places_of(conv, bind);
  set_axes(source, "X", places.x), set_axes(source, "Y", places.y);
  set_axes(source, "RES", places.residual), set_axes(source, "ADD", places.addend);
  set_spatial_window(source, conv.geometry.window, false);
  source.set("M", conv.pixels()), source.set("CHANNELS", conv.channels());
  source.set("CIN", conv.geometry.in_channels_per_group());
  source.set("COUT", conv.geometry.out_channels_per_group());
  source.set("WEIGHT", std::string(dtype_name(conv.weights.dtype())));
  source.set("X_S8", s64{conv.product.x_s8});
  source.set("ZP_X", s64{conv.product.epilogue.zero_point(kProductX)});
  const s64 width = width_of(conv, places, bind);
  source.set("VEC", width);
  set_epilogue(source, conv.product);
  launch.shape = blocks_for(device, conv.pixels() * conv.channels() / width);
  launch.shape.programmatic_dependent = true;
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
  constexpr f64 kLoads = 24;  // of one multiprocessor in a cycle, measured on an H100
  // From product to product: 280 cycles to the second-level cache, for three at a time.
  constexpr f64 kStep = 280.0 / 3;
  const s64 outputs = conv.pixels() * conv.channels();
  const s64 depth = conv.geometry.in_channels_per_group() * conv.geometry.window.kernel_elements();
  const f64 loads = 2 * static_cast<f64>(outputs) * static_cast<f64>(depth);
  const s64 rounds = ceil_div(outputs, chip.multiprocessors * chip.threads);
  return bytes_cost(moved_bytes(request), chip) + kTileCycles +
         std::max(loads / (kLoads * chip.multiprocessors),
                  static_cast<f64>(rounds * depth) * kStep);
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
  candidate.macs_per_cycle = kIntegerRate * device.chip().multiprocessors;
  candidate.cost = direct_cost(request, conv, device.chip());
  set_step(candidate, device,
           {.make_launch = [&device,
                            conv](const BindArgs& bind) { return make_launch(device, conv, bind); },
            .recipes = [conv](const BindArgs&) { return blobs(conv); }},
           [product = conv.product](const StepData& data) {
             return params::DirectParams{data.input(kProductX), data.blob<u8>(0),
                                         epilogue_params(product, data, 1)};
           });
  return candidate;
}

}  // namespace octet::cuda
