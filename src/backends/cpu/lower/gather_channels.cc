// SPDX-License-Identifier: Apache-2.0
// GatherChannels: on nhwc a permutation of each pixel's bytes, else whole planes.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/move/channels.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

// Tables take up to a hundred times the bytes of a pixel.
constexpr s64 kMaxPicked = 1 << 16;

std::string gather_reject(const LowerRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.constant(i) != nullptr) return "an input is a constant";
  }
  if (request.outputs[0].shape.elements() == 0) return "the result is empty";
  return {};
}

// Kernels that move whole blocks do not know shorter pixels.
const ChannelKernel& kernel_for(const LowerRequest& request) {
  s64 shortest = request.outputs[0].shape[1];
  for (const TensorType& type : request.inputs) shortest = std::min(shortest, type.shape[1]);
  shortest *= static_cast<s64>(dtype_bytes(request.outputs[0].dtype));
  const ChannelKernel& best = best_kernel(kChannelKernels, isa_of(request.target));
  return best.whole && shortest < best.bytes ? best_kernel(kChannelKernels, Isa::none) : best;
}

}  // namespace

Offer lower_gather_channels(const LowerRequest& request) {
  if (std::string reason = gather_reject(request); !reason.empty()) return Reject{reason};
  if (request.outputs[0].shape.rank() != 4) return Reject{"the result is not an image"};
  if (common_layout(request) == Layout::linear) return Reject{"no input is nhwc"};
  if (request.inputs.size() > kMaxGathered) return Reject{"there are more than 8 inputs"};
  if (request.outputs[0].shape[1] > kMaxPicked)
    return Reject{"more than 65536 channels are picked"};
  const ChannelKernel& kernel = kernel_for(request);
  Candidate candidate = candidate_of(request, kernel.name, Layout::nhwc);
  candidate.strided = candidate.by_image = true;
  candidate.bind = [&kernel, types = request.inputs, output = request.outputs[0].shape,
                    channels = attribute_of<&GatherChannelsAttributes::channels>(request.node)](
                       const BindArgs& bind) {
    std::vector<GatherChannels::Image> images;
    for (size_t i = 0; i < types.size(); ++i) {
      images.push_back({types[i].shape, nhwc_placement(types[i].shape, bind.inputs[i])});
    }
    auto gather = std::make_shared<const GatherChannels>(
        images, GatherChannels::Image{output, nhwc_placement(output, bind.outputs[0])}, channels,
        dtype_bytes(types[0].dtype), kernel);
    return [gather](const StepArgs& args) {
      gather->run(args.inputs, args.outputs[0], pool_of(args));
    };
  };
  return candidate;
}

Offer lower_gather_planes(const LowerRequest& request) {
  if (std::string reason = gather_reject(request); !reason.empty()) return Reject{reason};
  struct Plane {
    size_t input;
    s64 first, image_step;  // bytes
  };
  const Shape& shape = request.outputs[0].shape;
  const s64 bytes = dims_product(shape, 2, shape.rank()) *
                    static_cast<s64>(dtype_bytes(request.outputs[0].dtype));
  std::vector<Plane> planes;
  for (s64 channel : attribute_of<&GatherChannelsAttributes::channels>(request.node)) {
    size_t i = 0;
    for (; channel >= request.inputs[i].shape[1]; ++i) channel -= request.inputs[i].shape[1];
    planes.push_back({i, channel * bytes, request.inputs[i].shape[1] * bytes});
  }
  Candidate candidate = candidate_of(request, "gather_planes", Layout::linear);
  candidate.by_image = true;
  candidate.bind = [planes = std::move(planes), bytes, images = shape[0]](const BindArgs&) {
    const auto step = std::make_shared<const std::vector<Plane>>(planes);
    return [step, bytes, images](const StepArgs& args) {
      const auto count = static_cast<s64>(step->size());
      pool_of(args).parallel_for(images * count, [&](s64 begin, s64 end, int) {
        for (s64 i = begin; i < end; ++i) {
          const Plane& plane = (*step)[static_cast<size_t>(i % count)];
          std::memcpy(args.outputs[0] + i * bytes,
                      args.inputs[plane.input] + plane.first + i / count * plane.image_step,
                      static_cast<size_t>(bytes));
        }
      });
    };
  };
  return candidate;
}

}  // namespace octet
