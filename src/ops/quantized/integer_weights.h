// SPDX-License-Identifier: Apache-2.0
// Constant weights with zero points, as ONNX's integer operators have them, become s8 weights without: w - zero_point has up to
// nine bits, so it is split into a sum of s8 parts, and input channels with such weights are read once for each part. A depthwise
// convolution takes it as s16: its kernels read each channel once anyway.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "ops/shared/node_parser.h"

namespace octet {

// Where the axes of the weights lie, counted from the front.
struct WeightAxes {
  int output = 0;  // zero points belong to its indices
  int input = 1;   // longer by the channels that are read again
};

struct S8Weights {
  Tensor codes;  // s8; s16 where that was allowed and two parts would be needed
  // The input channel, of its group, that each index of the input axis meets: all of them, then those that are read again.
  std::vector<s64> inputs;
  s64 max_sum = 0;  // the largest sum of |w - zero_point| of an output channel
};

// Nothing when the zero points do not fit the weights. `zero_points` may be null.
std::optional<S8Weights> s8_weights(const Tensor& weights, const Tensor* zero_points,
                                    const WeightAxes& axes, bool allow_s16 = false);
// Whether QConv takes s16 weights of that shape in the place of `node`: a depthwise convolution of images.
bool takes_s16_weights(const Node& node, std::string_view op, const Tensor& weights);

// Reads S8Weights::inputs of each group: GatherChannels of images, or a Gather along `axis`, before the node; or x itself where each
// is read once.
struct InputChannels {
  s64 groups = 1;
  s64 in_group = 1;
  s64 axis = 1;
};
ValueId repeat_channels(NodeParser& parser, ValueId x, const InputChannels& channels,
                        std::span<const s64> inputs);
// The indices of that gathering.
std::vector<s64> repeated_order(const InputChannels& channels, std::span<const s64> inputs);
// Images have their channels where GatherChannels picks them.
inline bool gathers_channels(const InputChannels& channels) { return channels.axis == 1; }

// For `op` QConv or QMatMul: the axes of a convolution's or a matrix product's weights, and the input channels that these meet.
std::optional<WeightAxes> weight_axes(std::string_view op, const Tensor& weights);
InputChannels input_channels(const Node& node, std::string_view op, const Tensor& weights,
                             const WeightAxes& axes);

// ConvInteger becomes QConv and MatMulInteger QMatMul, with a real result that is cast to s32, where the weights prove that
// every sum is exact in f32.
void parse_integer_product(NodeParser& parser, std::string_view op);

}  // namespace octet
