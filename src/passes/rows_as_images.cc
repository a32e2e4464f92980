// SPDX-License-Identifier: Apache-2.0
// An integer convolution of [N,C,W] becomes one of images of a single row, between an Unsqueeze and a Squeeze: kernels know images alone.
// Between two such convolutions there is neither. Runs when what follows a convolution has become a part of it.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes/window.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

constexpr s64 kRow = 2;  // the axis that is put in

class RowConvolutions {
 public:
  explicit RowConvolutions(Graph& graph) : graph_(graph), edit_(graph) {}

  void run(Rewrites& rewrites) {
    images_.resize(graph_.value_count(), kNoValue);
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      if (reads_rows(graph_.nodes[at_]) && rewrites.allow()) replace();
    }
    edit_.apply();
  }

 private:
  bool reads_rows(const Node& node) const {
    return is_op(node, "QConv") && graph_.value(node.inputs[kProductX]).type.shape.rank() == 3 &&
           graph_.is_constant(node.inputs[kProductWeights]);
  }

  static Shape with_row(const Shape& rows) { return {rows[0], rows[1], 1, rows[2]}; }

  void replace() {
    Node conv = graph_.nodes[at_];
    for (const size_t input : {kProductX, kProductResidual, kProductAddend}) {
      const ValueId id = conv.input(input);
      if (id != kNoValue)
        conv.inputs[input] = image_of(id, conv, fmt::format("{}.image{}", conv.name, input));
    }
    const Tensor weights = graph_.value(conv.inputs[kProductWeights]).constant;
    conv.inputs[kProductWeights] =
        graph_.add_constant(conv.name + ".weights", weights.reshaped(with_row(weights.shape())));
    put_row_first<&ConvAttributes::kernel_shape>(conv, 1);
    put_row_first<&ConvAttributes::strides>(conv, 1);
    put_row_first<&ConvAttributes::dilations>(conv, 1);
    put_row_first<&ConvAttributes::pads>(conv, 0);
    const ValueId rows = conv.outputs[0];
    const Value result = graph_.value(rows);
    const ValueId image =
        graph_.add_value(conv.name + ".image", {result.type.dtype, with_row(result.type.shape)});
    graph_.value(image).quant = result.quant;
    conv.outputs = {image};
    if (rows >= images_.size()) images_.resize(rows + 1, kNoValue);
    images_[rows] = image;
    Node squeeze = node_beside(conv, find_op("Squeeze"), conv.name + ".rows", {image, axes()});
    squeeze.outputs = {rows};
    graph_.nodes[at_] = std::move(conv);
    edit_.insert_after(at_, std::move(squeeze));
  }

  // pads are those of all begins, then of all ends.
  template <auto kList>
  static void put_row_first(Node& conv, s64 value) {
    std::optional<std::vector<s64>> values = attribute_of<kList>(conv);
    if (!values) return;
    if (values->size() == 2) values->insert(values->begin() + 1, value);
    values->insert(values->begin(), value);
    set_attribute<kList>(conv.attrs, *values);
  }

  // The value as images, called so where it is made: what a convolution before made, or an Unsqueeze, each value once.
  ValueId image_of(ValueId rows, const Node& conv, const std::string& name) {
    if (rows >= images_.size()) images_.resize(rows + 1, kNoValue);
    if (images_[rows] != kNoValue) return images_[rows];
    const Value source = graph_.value(rows);
    Node node = node_beside(conv, find_op("Unsqueeze"), name, {rows, axes()});
    const ValueId image =
        graph_.add_value(node.name, {source.type.dtype, with_row(source.type.shape)});
    graph_.value(image).quant = source.quant;
    node.outputs = {image};
    edit_.insert_before(at_, std::move(node));
    images_[rows] = image;
    return image;
  }

  ValueId axes() {
    if (axes_ == kNoValue)
      axes_ = graph_.add_constant("row_axis", Tensor::of<s64>(Shape{1}, std::array{kRow}));
    return axes_;
  }

  Graph& graph_;
  GraphEdit edit_;
  std::vector<ValueId> images_;  // of each value, where there are such
  ValueId axes_ = kNoValue;
  size_t at_ = 0;  // the node that is looked at
};

}  // namespace

void rows_as_images(Graph& graph, Rewrites& rewrites) { RowConvolutions(graph).run(rewrites); }

}  // namespace octet
