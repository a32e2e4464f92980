// SPDX-License-Identifier: Apache-2.0
// Images that move without arithmetic, all channels of a pixel at once: Concat and Split of channels, nearest Resize,
// Slice and Pad. Elements may have any type.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/cpu/lower/resize_request.h"
#include "backends/host/queue.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"
#include "ops/shared/resize.h"

namespace octet {
namespace {

// Longer axes would make the maps as large as the images.
constexpr s64 kMaxDim = 1 << 24;

std::vector<s64> identity_map(s64 size) {
  std::vector<s64> map(static_cast<size_t>(size));
  std::iota(map.begin(), map.end(), s64{0});
  return map;
}

MapPixels all_pixels(const TensorType& type) {
  MapPixels map;
  map.images = identity_map(type.shape[0]);
  map.rows = identity_map(type.shape[2]);
  map.columns = identity_map(type.shape[3]);
  map.channels = type.shape[1];
  map.element_bytes = dtype_bytes(type.dtype);
  return map;
}

std::string image_reject(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (request.inputs[0].shape.rank() != 4) return "the input is not an image";
  for (s64 dim : request.outputs[0].shape) {
    if (dim == 0) return "the result is empty";
    if (dim > kMaxDim) return "an axis is longer than 2^24";
  }
  return {};
}

Candidate mapped(const LowerRequest& request, const char* kernel, MapPixels map) {
  Candidate candidate = candidate_of(request, kernel, Layout::nhwc);
  candidate.strided = true;
  candidate.by_image = map.images == identity_map(request.inputs[0].shape[0]);
  candidate.bind = [map = std::move(map), input = request.inputs[0].shape,
                    output = request.outputs[0].shape](const BindArgs& bind) -> RunStep {
    auto step = std::make_shared<MapPixels>(map);
    step->input = nhwc_placement(input, bind.inputs[0]);
    step->output = nhwc_placement(output, bind.outputs[0]);
    return
        [step](const StepArgs& args) { step->run(args.inputs[0], args.outputs[0], pool_of(args)); };
  };
  return candidate;
}

// Where the parameters of Slice and Pad are, for each axis of an image.
bool read_axes(const LowerRequest& request, size_t input, size_t count, std::vector<int>& axes) {
  std::vector<s64> given(count);
  std::iota(given.begin(), given.end(), s64{0});
  if (request.has_input(input) && !read_constant_ints(request, input, given)) return false;
  axes = normalize_axes(given, 4);
  return axes.size() == count;
}

// One piece of a channel-wise Concat or Split.
struct Piece {
  MapPixels map;
  s64 to_channel;  // of the output
  size_t bytes;    // of an element
};

}  // namespace

Offer lower_q_concat(const LowerRequest& request) {
  const Shape& output = request.outputs[0].shape;
  if (output.rank() != 4) return Reject{"the result is not an image"};
  if (axis_of(request.node, 4) != 1) {
    return Reject{"images are not joined along their channels"};
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.constant(i) != nullptr) return Reject{"an input is a constant"};
  }
  if (common_layout(request) == Layout::linear) return Reject{"no input is nhwc"};
  if (std::any_of(output.begin(), output.end(), [](s64 dim) { return dim > kMaxDim; })) {
    return Reject{"an axis is longer than 2^24"};
  }
  Candidate candidate = candidate_of(request, "concat_channels", Layout::nhwc);
  candidate.strided = candidate.by_image = true;
  candidate.joins_channels = true;
  candidate.bind = [types = request.inputs, output](const BindArgs& bind) -> RunStep {
    auto pieces = std::make_shared<std::vector<Piece>>();
    s64 channel = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      Piece piece{all_pixels(types[i]), channel, dtype_bytes(types[i].dtype)};
      piece.map.input = nhwc_placement(types[i].shape, bind.inputs[i]);
      piece.map.output = nhwc_placement(output, bind.outputs[0]);
      channel += types[i].shape[1];
      pieces->push_back(std::move(piece));
    }
    return [pieces](const StepArgs& args) {
      for (size_t i = 0; i < pieces->size(); ++i) {
        const Piece& piece = (*pieces)[i];
        std::byte* dst = args.outputs[0] + static_cast<size_t>(piece.to_channel) * piece.bytes;
        if (args.inputs[i] == dst) continue;  // written there already
        piece.map.run(args.inputs[i], dst, pool_of(args));
      }
    };
  };
  return candidate;
}

Offer lower_q_split(const LowerRequest& request) {
  if (std::string reason = image_reject(request); !reason.empty()) return Reject{reason};
  if (common_layout(request) == Layout::linear) return Reject{"the input is not nhwc"};
  if (axis_of(request.node, 4) != 1) {
    return Reject{"the image is not split along its channels"};
  }
  Candidate candidate = candidate_of(request, "split_channels", Layout::nhwc);
  candidate.strided = candidate.by_image = true;
  candidate.bind = [types = request.outputs,
                    input = request.inputs[0].shape](const BindArgs& bind) -> RunStep {
    auto maps = std::make_shared<std::vector<MapPixels>>();
    s64 channel = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      MapPixels map = all_pixels(types[i]);
      map.first_channel = channel;
      map.input = nhwc_placement(input, bind.inputs[0]);
      map.output = nhwc_placement(types[i].shape, bind.outputs[i]);
      channel += types[i].shape[1];
      maps->push_back(std::move(map));
    }
    return [maps](const StepArgs& args) {
      for (size_t i = 0; i < maps->size(); ++i) {
        (*maps)[i].run(args.inputs[0], args.outputs[i], pool_of(args));
      }
    };
  };
  return candidate;
}

Offer lower_q_resize(const LowerRequest& request) {
  if (std::string reason = image_reject(request); !reason.empty()) return Reject{reason};
  if (!resize_moves_elements(request.node)) return Reject{"the mode is not nearest"};
  ResizeGeometry geometry;
  bool by_sizes = false;
  if (std::string reason = read_resize(request, geometry, &by_sizes); !reason.empty())
    return Reject{reason};
  if (!geometry.axes[1].identity) return Reject{"channels are resized"};
  MapPixels map = all_pixels(request.outputs[0]);
  if (!geometry.axes[0].identity) map.images = geometry.axes[0].index;
  if (!geometry.axes[2].identity) map.rows = geometry.axes[2].index;
  if (!geometry.axes[3].identity) map.columns = geometry.axes[3].index;
  Candidate candidate = mapped(request, "resize_nearest", std::move(map));
  // Sizes name the batch too.
  candidate.by_image = candidate.by_image && !by_sizes;
  return candidate;
}

Offer lower_q_slice(const LowerRequest& request) {
  if (std::string reason = image_reject(request); !reason.empty()) return Reject{reason};
  if (common_layout(request) == Layout::linear) return Reject{"the input is not nhwc"};
  std::vector<s64> starts, steps;
  std::vector<int> axes;
  if (!read_constant_ints(request, 1, starts) || !read_axes(request, 3, starts.size(), axes)) {
    return Reject{"the starts or axes are not constant"};
  }
  steps.assign(starts.size(), 1);
  if (request.has_input(4) && !read_constant_ints(request, 4, steps)) {
    return Reject{"the steps are not constant"};
  }
  if (steps.size() != starts.size()) return Reject{"there is not one step for each start"};
  const Shape& input = request.inputs[0].shape;
  const Shape& output = request.outputs[0].shape;
  MapPixels map = all_pixels(request.outputs[0]);
  std::vector<s64>* maps[] = {&map.images, nullptr, &map.rows, &map.columns};
  for (size_t i = 0; i < axes.size(); ++i) {
    const s64 dim = input[axes[i]], step = steps[i];
    // The output is not empty, so the clamped start is its first element.
    const s64 start = std::clamp<s64>(starts[i] < 0 ? starts[i] + dim : starts[i], 0, dim - 1);
    if (axes[i] == 1) {
      if (step != 1 && output[1] > 1) return Reject{"channels are sliced with a step"};
      map.first_channel = start;
      continue;
    }
    std::vector<s64>& to = *maps[axes[i]];
    for (size_t at = 0; at < to.size(); ++at) {
      to[at] = start + (at == 0 ? 0 : static_cast<s64>(at) * step);
    }
  }
  return mapped(request, "slice_pixels", std::move(map));
}

Offer lower_q_pad(const LowerRequest& request) {
  if (std::string reason = image_reject(request); !reason.empty()) return Reject{reason};
  if (common_layout(request) == Layout::linear) return Reject{"the input is not nhwc"};
  if (attribute_of<&PadAttributes::mode>(request.node) != PadMode::constant)
    return Reject{"the mode is not constant"};
  std::vector<s64> pads;
  std::vector<int> axes;
  if (!read_constant_ints(request, 1, pads) || !read_axes(request, 3, pads.size() / 2, axes)) {
    return Reject{"the pads or axes are not constant"};
  }
  MapPixels map = all_pixels(request.outputs[0]);
  if (request.has_input(2)) {
    const Tensor* value = request.constant(2);
    if (value == nullptr) return Reject{"the value is not constant"};
    std::memcpy(map.fill.data(), value->data(), std::min(value->bytes(), map.fill.size()));
  }
  const Shape& input = request.inputs[0].shape;
  std::vector<s64>* maps[] = {&map.images, nullptr, &map.rows, &map.columns};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] == 1) {
      if (pads[i] != 0 || pads[i + axes.size()] != 0) return Reject{"channels are padded"};
      continue;
    }
    for (s64& from : *maps[axes[i]]) {
      from -= pads[i];
      if (from < 0 || from >= input[axes[i]]) from = -1;
    }
  }
  return mapped(request, "pad_pixels", std::move(map));
}

}  // namespace octet
