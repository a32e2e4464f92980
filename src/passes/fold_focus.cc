// SPDX-License-Identifier: Apache-2.0
// The "focus" of detectors, in codes or reals: four Slices take each second row and column of an image, a Concat joins them as channels, and a
// convolution reads those. It is a convolution of the image itself, with twice the window and stride: the same sums. So is one of
// SpaceToDepth's blocks of two by two, which quantizers make of such Slices, with a Gather that puts the channels in order.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_traits.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/window.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "ops/shared/axis_of.h"
#include "ops/shared/space_depth.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// Elements first, first + 2, ... of rows and of columns; -1: all of them.
struct Phase {
  s64 row = -1, column = -1;
};

// Of codes, or of reals.
bool is_convolution(const Node& node) {
  const OpDef* product = node.op->traits->integer_product;
  return is_op(node, "QConv") || (product != nullptr && product->name == "QConv");
}

class Focus {
 public:
  Focus(Graph& graph, Rewrites& rewrites) : graph_(graph), rewrites_(rewrites) {}

  void run() {
    const Uses uses(graph_);
    for (Node& node : graph_.nodes) {
      if (is_convolution(node)) fold(uses, node);
    }
  }

 private:
  // What one input of the Concat is of the image.
  struct Piece {
    ValueId image = kNoValue;
    Phase phase;
    std::vector<std::string> origins;
  };

  // What the convolution reads: each of its channels is one of the image, at one of four phases.
  struct Joined {
    ValueId image = kNoValue;
    // Of each channel: (2 * row + column) * channels of the image + channel of the image.
    std::vector<s64> from = {};
    Node earlier = {};  // with the names of all nodes that go
  };

  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }

  std::optional<std::vector<s64>> ints(const Node& node, size_t i) const {
    const Tensor* values = graph_.constant_input(node, i);
    if (values == nullptr || values->dtype() != Dtype::s64) return std::nullopt;
    const auto all = values->as<s64>();
    return std::vector<s64>(all.begin(), all.end());
  }

  // A Slice of each second element of rows or columns, from the first or the second on, of which there are as many.
  bool halves(const Node& slice, Phase& phase) const {
    const auto starts = ints(slice, 1), axes = ints(slice, 3), steps = ints(slice, 4);
    const Shape& from = shape_of(slice.inputs[0]);
    if (!starts || !axes || !steps || from.rank() != 4) return false;
    if (starts->size() != axes->size() || steps->size() != axes->size()) return false;
    Shape half = from;
    for (size_t i = 0; i < axes->size(); ++i) {
      const s64 axis = (*axes)[i] < 0 ? (*axes)[i] + 4 : (*axes)[i], start = (*starts)[i];
      if ((axis != 2 && axis != 3) || (*steps)[i] != 2 || start < 0 || start > 1) return false;
      s64& first = axis == 2 ? phase.row : phase.column;
      const s64 dim = from[static_cast<int>(axis)];
      if (first >= 0 || dim <= 0 || dim % 2 != 0) return false;
      first = start;
      half[static_cast<int>(axis)] = dim / 2;
    }
    return half == shape_of(slice.outputs[0]);
  }

  std::optional<Piece> piece(const Uses& uses, ValueId id) {
    Piece result;
    while (result.phase.row < 0 || result.phase.column < 0) {
      const Node* slice = producer_of(graph_, uses, id);
      if (slice == nullptr || !is_op(*slice, "Slice") || !halves(*slice, result.phase))
        return std::nullopt;
      result.origins.insert(result.origins.begin(), slice->origins.begin(), slice->origins.end());
      id = slice->inputs[0];
    }
    result.image = id;
    return result;
  }

  bool fits(const Node& conv) const {
    const std::vector<s64> ones{1, 1};
    const auto window = attributes_of<ConvAttributes>(conv);
    const Tensor* weights = graph_.constant_input(conv, kProductWeights);
    const bool known_type =
        weights != nullptr && (weights->dtype() == Dtype::s8 || weights->dtype() == Dtype::f32);
    return known_type && weights->shape().rank() == 4 && window.group == 1 &&
           window.strides.value_or(ones) == ones && window.dilations.value_or(ones) == ones &&
           window.auto_pad == AutoPad::notset && (!window.pads || window.pads->size() == 4);
  }

  void fold(const Uses& uses, Node& conv) {
    const Node* last = producer_of(graph_, uses, conv.inputs[kProductX]);
    if (last == nullptr || only_reader(graph_, uses, last->outputs[0]) == nullptr || !fits(conv))
      return;
    // Channels that are not known yet could be any.
    const s64 channels = graph_.constant_input(conv, kProductWeights)->shape()[1];
    if (channels % 4 != 0) return;
    const std::optional<Joined> joined = is_op(*last, "Concat") ? of_slices(uses, *last, channels)
                                                                : of_blocks(uses, *last, channels);
    if (!joined || shape_of(joined->image)[1] != channels / 4 || !is_order(joined->from, channels))
      return;
    if (graph_.is_constant(joined->image) || !rewrites_.allow()) return;
    replace(conv, *joined);
  }

  static bool is_order(std::vector<s64> from, s64 channels) {
    if (std::ssize(from) != channels) return false;
    std::ranges::sort(from);
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != static_cast<s64>(i)) return false;
    }
    return true;
  }

  std::optional<Joined> of_slices(const Uses& uses, const Node& concat, s64 channels) {
    if (concat.inputs.size() != 4 || shape_of(concat.outputs[0]).rank() != 4 ||
        axis_of(concat, 4) != 1)
      return std::nullopt;
    Joined joined{.earlier = concat};
    joined.earlier.origins.clear();
    for (size_t i = 0; i < 4; ++i) {
      const std::optional<Piece> part = piece(uses, concat.inputs[i]);
      if (!part || (i > 0 && part->image != joined.image)) return std::nullopt;
      joined.image = part->image;
      const s64 phase = 2 * part->phase.row + part->phase.column;
      for (s64 c = 0; c < channels / 4; ++c) joined.from.push_back(phase * (channels / 4) + c);
      add_origins(joined.earlier, part->origins);
    }
    add_origins(joined.earlier, concat.origins);
    return joined;
  }

  // `last`: SpaceToDepth, or a Gather of its channels.
  std::optional<Joined> of_blocks(const Uses& uses, const Node& last, s64 channels) {
    std::vector<s64> order(static_cast<size_t>(channels));
    std::iota(order.begin(), order.end(), 0);
    const Node* blocks = &last;
    if (is_op(last, "Gather")) {
      const std::optional<std::vector<s64>> indices = ints(last, 1);
      const bool of_channels = shape_of(last.outputs[0]).rank() == 4 &&
                               shape_of(last.inputs[0]).rank() == 4 && axis_of(last, 4) == 1;
      blocks = producer_of(graph_, uses, last.inputs[0]);
      if (!indices || !of_channels || only_reader(graph_, uses, last.inputs[0]) == nullptr)
        return std::nullopt;
      order = *indices;
    }
    if (blocks == nullptr || !is_op(*blocks, "SpaceToDepth")) return std::nullopt;
    const Shape& image = shape_of(blocks->inputs[0]);
    const SpaceDepth depth = space_depth_of(*blocks, image);
    if (depth.block != 2 || image[2] <= 0 || image[3] <= 0) return std::nullopt;
    Joined joined{.image = blocks->inputs[0], .earlier = *blocks};
    for (const s64 i : order) {
      const s64 at = i < 0 ? i + channels : i;
      joined.from.push_back(depth.depth_first ? at : at % 4 * (channels / 4) + at / 4);
    }
    if (blocks != &last) add_origins(joined.earlier, last.origins);
    return joined;
  }

  // Slices of all rows serve two pieces each.
  static void add_origins(Node& node, const std::vector<std::string>& origins) {
    for (const std::string& origin : origins) {
      if (std::ranges::find(node.origins, origin) == node.origins.end())
        node.origins.push_back(origin);
    }
  }

  void replace(Node& conv, const Joined& joined) {
    const Tensor weights = wide_weights(*graph_.constant_input(conv, kProductWeights), joined.from);
    const ValueId old = conv.inputs[kProductWeights];
    Node node = conv;
    node.inputs[kProductX] = joined.image;
    node.inputs[kProductWeights] = graph_.add_constant(graph_.value(old).name + ".wide", weights);
    std::vector<s64> pads =
        attribute_of<&ConvAttributes::pads>(conv).value_or(std::vector<s64>(4, 0));
    for (s64& pad : pads) pad *= 2;
    set_attribute<&ConvAttributes::pads>(node.attrs, pads);
    set_attribute<&ConvAttributes::strides>(node.attrs, {2, 2});
    set_attribute<&ConvAttributes::kernel_shape>(node.attrs,
                                                 {weights.shape()[2], weights.shape()[3]});
    replace_fused(conv, std::move(node), joined.earlier);
  }

  // [O, 4 * C, h, w] -> [O, C, 2 * h, 2 * w]
  static Tensor wide_weights(const Tensor& weights, const std::vector<s64>& joined) {
    const Shape& s = weights.shape();
    const s64 channels = s[1] / 4, h = s[2], w = s[3];
    Tensor wide(weights.dtype(), Shape{s[0], channels, 2 * h, 2 * w});
    const size_t bytes = dtype_bytes(weights.dtype());
    for (s64 i = 0; i < weights.elements(); ++i) {
      const s64 x = i % w, y = i / w % h, out = i / (w * h * s[1]);
      const s64 of_image = joined[static_cast<size_t>(i / (w * h) % s[1])];
      const s64 phase = of_image / channels;
      const s64 row = 2 * y + phase / 2, column = 2 * x + phase % 2;
      const s64 at = ((out * channels + of_image % channels) * 2 * h + row) * 2 * w + column;
      std::memcpy(wide.mutable_data() + static_cast<size_t>(at) * bytes,
                  weights.data() + static_cast<size_t>(i) * bytes, bytes);
    }
    return wide;
  }

  Graph& graph_;
  Rewrites& rewrites_;
};

}  // namespace

void fold_focus(Graph& graph, Rewrites& rewrites) { Focus(graph, rewrites).run(); }

}  // namespace octet
