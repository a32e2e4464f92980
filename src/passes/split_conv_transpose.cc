// SPDX-License-Identifier: Apache-2.0
// A transposed convolution of codes becomes one convolution with a set of output channels for each position between two
// input elements (a phase), whose codes DepthToSpace interleaves: the sums of ConvTranspose, made by QConv's kernels.
#include "passes/split_conv_transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/window.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "ops/shared/conv.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/qdq.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias };

// Phase p of an axis makes the outputs q * stride + p - crop. There tap k reads the input at q + shift, where
// shift = (p + pad - k * dilation) / stride for the whole strides `pad` of padding; other taps have no part in it.
struct PhaseAxis {
  s64 stride = 1, crop = 0, out = 0;
  s64 first = 0;   // the lowest shift, at most 0
  s64 kernel = 1;  // of the convolution
  s64 pad_end = 0;
  s64 pixels = 0;  // outputs of each phase
  bool open =
      false;  // the size of the input is not known: `out` and `pixels` are those of kAnySize
  std::vector<std::pair<s64, s64>>
      taps;  // phase and position in the convolution's kernel, for each tap

  bool cropped() const { return crop != 0 || pixels * stride != out; }
  // Where the outputs that are kept end, among all of the phases. What lies behind them is as much for every size.
  s64 end() const {
    const s64 behind = pixels * stride - crop - out;
    if (!open) return crop + out;
    return behind == 0 ? std::numeric_limits<s64>::max() : -behind;
  }
  s64 size_of_phase() const { return open ? Shape::kDynamic : pixels; }
  s64 size_of_all() const { return open ? Shape::kDynamic : pixels * stride; }
};

PhaseAxis phases_of(const WindowAxis& axis) {
  PhaseAxis result;
  result.stride = axis.stride;
  result.crop = axis.pad_begin % axis.stride;
  result.out = axis.out;
  const s64 whole = axis.pad_begin / axis.stride;
  s64 last = 0;
  for (s64 k = 0; k < axis.kernel; ++k) {
    const s64 offset = k * axis.dilation, shift = whole - offset / axis.stride;
    result.taps.emplace_back(offset % axis.stride, shift);
    result.first = std::min(result.first, shift);
    last = std::max(last, shift);
  }
  for (auto& [phase, position] : result.taps) position -= result.first;
  result.kernel = last - result.first + 1;
  result.pixels = (axis.out + result.crop + axis.stride - 1) / axis.stride;
  // Where the padding cuts off the end of the input, the convolution makes more pixels than are kept.
  result.pad_end = std::max<s64>(result.pixels - axis.in - 1 + result.kernel + result.first, 0);
  result.pixels = axis.in - result.first + result.pad_end - result.kernel + 1;
  return result;
}

struct Phases {
  s64 in_channels = 0, out_channels = 0;
  PhaseAxis h, w;

  s64 count() const { return h.stride * w.stride; }
};

// Weights [C, O, kh, kw] as [phases * O, C, kernels...]; where a phase has no tap stands what dequantizes to 0.
Tensor phase_weights(const Tensor& weights, const Phases& phases, const Tensor* zero_points) {
  const s64 in = phases.in_channels, out = phases.out_channels;
  const s64 taps = phases.h.kernel * phases.w.kernel;
  Tensor result(weights.dtype(), {phases.count() * out, in, phases.h.kernel, phases.w.kernel});
  std::byte* dst = result.mutable_data();
  for (s64 row = 0; row < phases.count() * out; ++row) {
    std::byte zero{};
    if (zero_points != nullptr)
      zero = zero_points->data()[zero_points->elements() == 1 ? 0 : row % out];
    std::fill_n(dst + row * in * taps, in * taps, zero);
  }
  const std::byte* src = weights.data();
  for (s64 i = 0; i < in * out; ++i) {
    for (const auto& [phase_h, at_h] : phases.h.taps) {
      for (const auto& [phase_w, at_w] : phases.w.taps) {
        const s64 row = (phase_h * phases.w.stride + phase_w) * out + i % out;
        dst[(row * in + i / out) * taps + at_h * phases.w.kernel + at_w] = *src++;
      }
    }
  }
  return result;
}

// A vector over output channels, once for each phase.
Tensor repeated(const Tensor& values, s64 times) {
  Tensor result(values.dtype(), {values.elements() * times});
  for (s64 i = 0; i < times; ++i)
    std::memcpy(result.mutable_data() + static_cast<size_t>(i) * values.bytes(), values.data(),
                values.bytes());
  return result;
}

// In place of a size that is not known. Kernel, padding and crops follow from the attributes alone, and outputs grow by the stride with
// each element of the input, unless the node states how many it gives.
constexpr s64 kAnySize = 256;

// The phases of a node, or why it has none.
std::string read_phases(const Node& product, Shape x, const Shape& weights, Phases& phases) {
  if (x.is_unknown() || x.rank() != 4 || x[1] < 0) return "the rank of its input is not known";
  const bool open_h = x[2] < 0, open_w = x[3] < 0;
  if ((open_h || open_w) && has_attribute<&ConvTransposeAttributes::output_shape>(product))
    return "it states the size of its result, and the size of its image depends on the input";
  if (open_h) x[2] = kAnySize;
  if (open_w) x[3] = kAnySize;
  const ConvGeometry geometry = conv_transpose_geometry(product, x, weights);
  if (geometry.groups != 1) return fmt::format("it has {} groups", geometry.groups);
  const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
  if (h.stride != w.stride) return fmt::format("its strides {} and {} differ", h.stride, w.stride);
  constexpr s64 kMaxStride = 16, kMaxKernel = 64;
  if (h.stride > kMaxStride || std::max(h.extent(), w.extent()) > kMaxKernel)
    return "its stride is above 16 or its kernel above 64";
  phases = {geometry.in_channels, geometry.out_channels, phases_of(h), phases_of(w)};
  phases.h.open = open_h;
  phases.w.open = open_w;
  if (phases.h.pad_end > phases.h.kernel || phases.w.pad_end > phases.w.kernel)
    return "its output reaches far beyond the last tap";
  constexpr s64 kMaxShare = 4;
  if (phases.count() * phases.h.kernel * phases.w.kernel > kMaxShare * h.kernel * w.kernel)
    return "nearly all products of its phases would be with zeros";
  return {};
}

class Splitter : GraphPass {
 public:
  using GraphPass::GraphPass;

  void run() {
    GraphEdit edit(graph_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      Node* product = is_quantize(node) ? producer_of(graph_, uses_, node.inputs[0]) : nullptr;
      if (product == nullptr || !is_op(*product, "ConvTranspose")) continue;
      if (try_split(*product, node)) edit.replace(n, std::exchange(made_, {}));
    }
    edit.apply();
  }

 private:
  const Node* dequantize_of(ValueId id) const {
    const Node* node = id == kNoValue ? nullptr : producer_of(graph_, uses_, id);
    return node != nullptr && is_dequantize(*node) ? node : nullptr;
  }

  bool try_split(Node& product, const Node& quantize) {
    const Node* x = dequantize_of(product.inputs[kX]);
    if (product.decision.precision == Precision::f32 || x == nullptr ||
        graph_.is_constant(x->inputs[0]) || !code_type(graph_, *x) || !code_type(graph_, quantize))
      return false;
    phases_ = {};
    std::string reason = unreadable(product);
    if (reason.empty()) {
      const ValueId codes = dequantize_of(product.inputs[kWeights])->inputs[0];
      reason = read_phases(product, graph_.value(product.inputs[kX]).type.shape,
                           graph_.value(codes).type.shape, phases_);
    }
    if (!reason.empty()) {
      product.decision = {Precision::f32, ReasonCode::refused_by_operator, reason};
      return false;
    }
    if (!rewrites_.allow()) return false;
    write(product, quantize);
    return true;
  }

  // Why weights or bias cannot be brought into another order; empty where they can.
  std::string unreadable(const Node& product) const {
    const Node* weights = dequantize_of(product.inputs[kWeights]);
    if (only_reader(graph_, uses_, product.outputs[0]) == nullptr)
      return "its result is read twice";
    if (weights == nullptr || !graph_.is_constant(weights->inputs[0]))
      return "its weights are no constant codes";
    const Tensor& codes = graph_.value(weights->inputs[0]).constant;
    if (!is_code(codes.dtype()) || codes.shape().rank() != 4 || codes.elements() == 0)
      return "its weights are no 8-bit codes of an image's kernel";
    if (!along_channels(*weights, codes.shape(), 1))
      return "its weights have scales along another axis than the output channels";
    const ValueId bias = product.input(kBias);
    if (bias == kNoValue || graph_.is_constant(bias)) return {};
    const Node* coded = dequantize_of(bias);
    if (coded == nullptr || !graph_.is_constant(coded->inputs[0]))
      return "its bias is computed at run time";
    if (graph_.value(coded->inputs[0]).constant.dtype() != Dtype::s32) return "its bias is not s32";
    if (!along_channels(*coded, {codes.shape()[1]}, 0))
      return "its bias has neither one scale nor one for each value";
    return {};
  }

  // Scales and zero points of the codes are constant: one, or one for each index along `wanted`.
  bool along_channels(const Node& dq, const Shape& shape, int wanted) const {
    const s64 axis = attribute_of<&ScaleAttributes::axis>(dq);
    const bool fits = (axis < 0 ? axis + shape.rank() : axis) == wanted;
    if (attribute_of<&ScaleAttributes::block_size>(dq) != 0) return false;
    for (const size_t i : {size_t{1}, size_t{2}}) {
      if (dq.input(i) == kNoValue) continue;
      const Tensor* values = graph_.constant_input(dq, i);
      const Dtype expected = i == 1 ? Dtype::f32 : graph_.value(dq.inputs[0]).type.dtype;
      if (values == nullptr || values->dtype() != expected) return false;
      if (values->elements() != 1 && !(fits && values->elements() == shape[wanted])) return false;
    }
    return true;
  }

  void write(const Node& product, const Node& quantize) {
    Node conv = product;
    conv.op = find_op("Conv");
    conv.attrs = {};
    set_attribute<&ConvAttributes::pads>(
        conv.attrs, {-phases_.h.first, -phases_.w.first, phases_.h.pad_end, phases_.w.pad_end});
    conv.inputs[kWeights] = weights_of(product);
    if (product.input(kBias) != kNoValue) conv.inputs[kBias] = bias_of(product);
    Shape shape{graph_.value(product.inputs[kX]).type.shape[0],
                phases_.count() * phases_.out_channels, phases_.h.size_of_phase(),
                phases_.w.size_of_phase()};
    conv.outputs = {graph_.add_value(product.name + ".phases", {Dtype::f32, shape})};
    Node codes = make_quantize(graph_, conv.outputs[0], *code_type(graph_, quantize),
                               product.name + ".phase_codes");
    codes.origins = quantize.origins;
    codes.decision = quantize.decision;
    last_ = codes.outputs[0];
    made_.push_back(std::move(conv));
    made_.push_back(std::move(codes));
    shape = {shape[0], phases_.out_channels, phases_.h.size_of_all(), phases_.w.size_of_all()};
    if (phases_.count() > 1) {
      Node interleave = move_node("DepthToSpace", product, quantize, shape);
      set_attribute<&BlocksAttributes::blocksize>(interleave.attrs, phases_.h.stride);
      made_.push_back(std::move(interleave));
    }
    if (phases_.h.cropped() || phases_.w.cropped()) crop(product, quantize);
    made_.back().outputs = quantize.outputs;
    graph_.value(quantize.outputs[0]).quant = code_type(graph_, quantize)->params;
  }

  void crop(const Node& product, const Node& quantize) {
    const PhaseAxis &h = phases_.h, &w = phases_.w;
    Node slice =
        move_node("Slice", product, quantize, graph_.value(quantize.outputs[0]).type.shape);
    const auto ints = [&](const char* what, std::vector<s64> values) {
      slice.inputs.push_back(
          graph_.add_constant(product.name + what, Tensor::of<s64>({2}, values)));
    };
    ints(".starts", {h.crop, w.crop});
    ints(".ends", {h.end(), w.end()});
    ints(".axes", {2, 3});
    made_.push_back(std::move(slice));
  }

  // A move of the codes made last.
  Node move_node(std::string_view op, const Node& product, const Node& quantize,
                 const Shape& shape) {
    Node node = node_beside(quantize, find_op(op), fmt::format("{}.{}", product.name, op), {last_});
    const Value codes = graph_.value(last_);
    node.outputs = {last_ = graph_.add_value(node.name, {codes.type.dtype, shape})};
    graph_.value(last_).quant = codes.quant;
    node.decision = {Precision::int8, ReasonCode::ordered_phases,
                     "puts the codes of a transposed convolution in their places"};
    return node;
  }

  ValueId weights_of(const Node& product) {
    const Node& dq = *dequantize_of(product.inputs[kWeights]);
    const Tensor* zero_points = graph_.constant_input(dq, 2);
    const Tensor codes = phase_weights(graph_.value(dq.inputs[0]).constant, phases_, zero_points);
    return dequantized(dq, codes);
  }

  ValueId bias_of(const Node& product) {
    const ValueId id = product.inputs[kBias];
    const Node* dq = graph_.is_constant(id) ? nullptr : dequantize_of(id);
    const Tensor values =
        repeated(graph_.value(dq == nullptr ? id : dq->inputs[0]).constant, phases_.count());
    return dq != nullptr ? dequantized(*dq, values)
                         : graph_.add_constant(graph_.value(id).name + ".phases", values);
  }

  // The DequantizeLinear `like` of other codes, whose first axis is that of the output channels.
  ValueId dequantized(const Node& like, const Tensor& codes) {
    Node node = like;
    node.name += ".phases";
    node.inputs[0] = graph_.add_constant(graph_.value(like.inputs[0]).name + ".phases", codes);
    for (size_t i = 1; i < like.inputs.size(); ++i) {
      const Tensor* given = graph_.constant_input(like, i);
      if (given == nullptr || given->elements() == 1) continue;
      const Tensor all = repeated(*given, phases_.count());
      node.inputs[i] = graph_.add_constant(graph_.value(like.inputs[i]).name + ".phases", all);
    }
    set_attribute<&ScaleAttributes::axis>(node.attrs, 0);
    node.outputs = {graph_.add_value(node.name, {Dtype::f32, codes.shape()})};
    made_.push_back(std::move(node));
    return made_.back().outputs[0];
  }

  Phases phases_;            // of the node at hand
  std::vector<Node> made_;   // what comes in its place
  ValueId last_ = kNoValue;  // of the codes made so far
};

}  // namespace

std::string unsplittable_conv_transpose(const Graph& graph, const Node& node) {
  const Tensor* weights = graph.constant_input(node, kWeights);
  if (weights == nullptr) return "its weights are computed at run time";
  if (weights->dtype() != Dtype::f32 || weights->shape().rank() != 4 || weights->elements() == 0)
    return "its weights are no f32 values of an image's kernel";
  if (!std::ranges::all_of(weights->as<f32>(), [](f32 w) { return std::isfinite(w); }))
    return "its weights hold an infinity or a NaN";
  const Tensor* bias = graph.constant_input(node, kBias);
  if (node.input(kBias) != kNoValue && bias == nullptr) return "its bias is computed at run time";
  // So far any scale of the input gives the weights one that holds the bias (quantize_weights).
  constexpr f32 kMaxBias = 1 << 30;
  if (bias != nullptr &&
      !std::ranges::all_of(bias->as<f32>(), [](f32 b) { return std::fabs(b) <= kMaxBias; }))
    return "its bias passes 2^30";
  Phases phases;
  return read_phases(node, graph.value(node.inputs[kX]).type.shape, weights->shape(), phases);
}

void split_conv_transpose(Graph& graph, Rewrites& rewrites) { Splitter(graph, rewrites).run(); }

}  // namespace octet
