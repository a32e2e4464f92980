// SPDX-License-Identifier: Apache-2.0
// The canonical form of an operator -> nodes of ONNX. Most operators stand as they are; those that passes made, or that only newer
// opsets have, become what every runtime knows, in the shapes that our own passes recognize.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/small_types.h"
#include "graph/op_traits.h"
#include "onnx/model_writer.h"
#include "ops/attributes/activation.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/functions.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/normalization.h"
#include "ops/attributes/reduction.h"
#include "ops/attributes/sampling.h"
#include "ops/attributes/window.h"
#include "ops/shared/activation.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

using Call = ModelWriter::Call;
using Names = ModelWriter::Names;

// Opsets that hold what our canonical forms may contain.
constexpr s64 kBase = 17, kReduceAxes = 18, kResizeAxes = 18, kGridNames = 20, kWideCodes = 21;
constexpr s64 kNewest = 28;

// The name of a node that was folded into `node`, counted from its last: as the model had it, where that is known.
std::string folded_name(const Node& node, size_t from_end, std::string_view what) {
  if (node.origins.size() > from_end + 1) return node.origins[node.origins.size() - 1 - from_end];
  return fmt::format("{}/{}", node.name, what);
}

Attrs without_activation(Attrs attrs) {
  erase_attributes<ActivationAttributes>(attrs);
  return attrs;
}

// From `x` to the node's output.
void write_activation(ModelWriter& writer, const Node& node, const std::string& x) {
  const Activation activation = activation_of(node);
  const std::string name = folded_name(node, 0, "activation");
  Call call{"Relu", name, {x}, writer.names_of(node.outputs)};
  if (activation.kind == Activation::Kind::clip) {
    call.op = "Clip";
    call.inputs.push_back(
        std::isinf(activation.min) ? "" : writer.scalar(name + ".min", activation.min));
    call.inputs.push_back(
        std::isinf(activation.max) ? "" : writer.scalar(name + ".max", activation.max));
  } else if (activation.kind == Activation::Kind::leaky_relu) {
    call.op = "LeakyRelu";
    call.attrs.set("alpha", activation.alpha);
  }
  writer.add(call);
}

// What remains of a node with folded ones behind it: `steps` more nodes, each of which gets a value of its own but the last.
class Chain {
 public:
  Chain(ModelWriter& writer, const Node& node, size_t steps)
      : writer_(writer), node_(node), left_(steps) {}

  // The output of the next node.
  std::string next() {
    const std::string own = writer_.name_of(node_.outputs[0]);
    last_ = left_ == 0 ? own : writer_.fresh_value(fmt::format("{}.before_{}", own, left_));
    if (left_ > 0) --left_;
    return last_;
  }
  const std::string& last() const { return last_; }

 private:
  ModelWriter& writer_;
  const Node& node_;
  size_t left_;
  std::string last_;
};

bool is_active(const Node& node) { return activation_of(node).kind != Activation::Kind::none; }

bool is_matrix(const Graph& graph, ValueId id) {
  const Shape& shape = graph.value(id).type.shape;
  return !shape.is_unknown() && shape.rank() == 2;
}

// Convolutions and matrix products: the bias where ONNX has a place for it, then sum and activation.
void write_product(ModelWriter& writer, const Node& node) {
  const Graph& graph = writer.graph();
  const bool matrix = node.op->name == "MatMul";
  const bool has_bias = node.input(2) != kNoValue, has_sum = node.input(3) != kNoValue;
  const bool gemm =
      matrix && has_bias && is_matrix(graph, node.inputs[0]) && is_matrix(graph, node.inputs[1]);
  const bool adds_bias = matrix && has_bias && !gemm;
  const bool active = is_active(node);
  Chain chain(writer, node, size_t{adds_bias} + size_t{has_sum} + size_t{active});
  Names inputs = writer.names_of(node.inputs);
  inputs.resize(has_bias && !adds_bias ? 3 : 2);
  const Attrs attrs = without_activation(node.attrs);
  writer.add(
      {gemm ? "Gemm" : std::string(node.op->name), node.name, inputs, {chain.next()}, attrs});
  if (adds_bias) {
    const std::string x = chain.last();
    writer.add({"Add", node.name + "/bias", {x, writer.name_of(node.inputs[2])}, {chain.next()}});
  }
  if (has_sum) {
    const std::string x = chain.last();
    writer.add({"Add",
                folded_name(node, size_t{active}, "sum"),
                {x, writer.name_of(node.inputs[3])},
                {chain.next()}});
  }
  if (active) write_activation(writer, node, chain.last());
}

void write_sum(ModelWriter& writer, const Node& node) {
  Chain chain(writer, node, size_t{is_active(node)});
  writer.add({"Add",
              node.name,
              writer.names_of(node.inputs),
              {chain.next()},
              without_activation(node.attrs)});
  if (is_active(node)) write_activation(writer, node, chain.last());
}

// x * Sigmoid(alpha * x)
void write_swish(ModelWriter& writer, const Node& node) {
  const std::string x = writer.name_of(node.inputs[0]), base = writer.name_of(node.outputs[0]);
  const f32 alpha = attribute_of<&AlphaAttributes::alpha>(node);
  std::string scaled = x;
  if (alpha != 1.0f) {
    scaled = writer.fresh_value(base + ".scaled");
    writer.add({"Mul", node.name + "/scale", {x, writer.scalar(base + ".alpha", alpha)}, {scaled}});
  }
  const std::string gate = writer.fresh_value(base + ".gate");
  writer.add({"Sigmoid", folded_name(node, 1, "gate"), {scaled}, {gate}});
  writer.add({"Mul", node.name, {x, gate}, {base}});
}

// 0.5 * x * (1 + Erf(x / sqrt(2)))
void write_gelu(ModelWriter& writer, const Node& node) {
  const std::string x = writer.name_of(node.inputs[0]), y = writer.name_of(node.outputs[0]);
  if (attribute_of<&GeluAttributes::approximate>(node) != GeluForm::none) {
    writer.add({"Gelu", node.name, {x}, {y}, node.attrs});
    return;
  }
  const auto step = [&](const char* op, const char* what, Names inputs) {
    std::string out = writer.fresh_value(fmt::format("{}.{}", y, what));
    writer.add({op, fmt::format("{}/{}", node.name, what), std::move(inputs), {out}});
    return out;
  };
  const std::string scaled =
      step("Div", "scaled", {x, writer.scalar(y + ".root", std::sqrt(2.0f))});
  const std::string erf = step("Erf", "erf", {scaled});
  const std::string gate = step("Add", "gate", {erf, writer.scalar(y + ".one", 1.0f)});
  const std::string product = step("Mul", "product", {x, gate});
  writer.add({"Mul", node.name, {product, writer.scalar(y + ".half", 0.5f)}, {y}});
}

const Tensor* constant_axes(const Graph& graph, const Node& node) {
  const Tensor* axes = graph.constant_input(node, 1);
  return axes != nullptr && axes->dtype() == Dtype::s64 ? axes : nullptr;
}

// Axes are an input of all reductions since opset 18 only.
void write_reduction(ModelWriter& writer, const Node& node) {
  Call call{std::string(node.op->name), node.name, writer.names_of(node.inputs),
            writer.names_of(node.outputs), node.attrs};
  if (writer.opset() < kReduceAxes) {
    call.inputs.resize(1);
    call.attrs.erase("noop_with_empty_axes");
    if (const Tensor* axes = constant_axes(writer.graph(), node)) {
      const auto list = axes->as<s64>();
      if (!list.empty()) call.attrs.set("axes", std::vector<s64>(list.begin(), list.end()));
    }
  }
  writer.add(call);
}

s64 opset_of_reduction(const Graph& graph, const Node& node) {
  if (node.input(1) == kNoValue)
    return attribute_of<&ReduceAttributes::noop_with_empty_axes>(node) ? kReduceAxes : kBase;
  const Tensor* axes = constant_axes(graph, node);
  const bool none = axes != nullptr && axes->elements() == 0;
  return axes == nullptr || (none && attribute_of<&ReduceAttributes::noop_with_empty_axes>(node))
             ? kReduceAxes
             : kBase;
}

void write_resize(ModelWriter& writer, const Node& node) {
  writer.add({"Resize", node.name, writer.names_of(node.inputs), writer.names_of(node.outputs),
              node.attrs});
}

s64 opset_of_resize(const Graph&, const Node& node) {
  const bool symmetric = attribute_of<&ResizeAttributes::coordinate_transformation_mode>(node) ==
                         ResizeCoordinates::half_pixel_symmetric;
  if (symmetric) return kResizeAxes + 1;
  const bool newer = has_attribute<&ResizeAttributes::antialias>(node) ||
                     has_attribute<&ResizeAttributes::axes>(node) ||
                     has_attribute<&ResizeAttributes::keep_aspect_ratio_policy>(node);
  return newer ? kResizeAxes : kBase;
}

// Opsets before 20 say "bilinear".
void write_grid_sample(ModelWriter& writer, const Node& node) {
  Call call{"GridSample", node.name, writer.names_of(node.inputs), writer.names_of(node.outputs),
            node.attrs};
  const GridMode mode = attribute_of<&GridSampleAttributes::mode>(node);
  if (writer.opset() < kGridNames && mode != GridMode::nearest)
    call.attrs.set("mode", std::string(mode == GridMode::linear ? "bilinear" : "bicubic"));
  writer.add(call);
}

void write_softmax(ModelWriter& writer, const Node& node) {
  Attrs attrs = node.attrs;
  attrs.erase("flatten");
  writer.add({std::string(node.op->name), node.name, writer.names_of(node.inputs),
              writer.names_of(node.outputs), attrs});
}

// Names of element types -> ONNX's numbers.
void write_typed(ModelWriter& writer, const Node& node) {
  Attrs attrs = node.attrs;
  for (const char* name : {"to", "dtype", "output_datatype", "softmax_precision"}) {
    const std::string type = attrs.has(name) ? attrs.s(name, "") : std::string();
    if (!type.empty()) attrs.set(name, s64{dtype_to_onnx(dtype_from_name(type))});
  }
  writer.add({std::string(node.op->name), node.name, writer.names_of(node.inputs),
              writer.names_of(node.outputs), attrs});
}

void write_plain(ModelWriter& writer, const Node& node) {
  writer.add({std::string(node.op->name), node.name, writer.names_of(node.inputs),
              writer.names_of(node.outputs), node.attrs, std::string(node.op->domain)});
}

using Write = void (*)(ModelWriter&, const Node&);
using Opset = s64 (*)(const Graph&, const Node&);

struct Form {
  std::string_view op;
  s64 since = kBase;  // the opset of its canonical form, as written
  Write write = write_plain;
  Opset opset = nullptr;  // where that depends on the node
};

s64 opset_of_gelu(const Graph&, const Node& node) {
  return attribute_of<&GeluAttributes::approximate>(node) == GeluForm::none ? kBase : 20;
}
s64 opset_of_pad(const Graph&, const Node& node) {
  if (attribute_of<&PadAttributes::mode>(node) == PadMode::wrap) return 19;
  return node.input(3) != kNoValue ? 18 : kBase;
}
s64 opset_of_split(const Graph&, const Node& node) {
  return has_attribute<&SplitAttributes::num_outputs>(node) ? 18 : kBase;
}
s64 opset_of_scatter(const Graph&, const Node& node) {
  const ScatterReduction reduction = attribute_of<&ScatterAttributes::reduction>(node);
  return reduction == ScatterReduction::min || reduction == ScatterReduction::max ? 18 : kBase;
}
s64 opset_of_pool(const Graph&, const Node& node) {
  return has_attribute<&PoolAttributes::dilations>(node) ? 19 : kBase;
}

constexpr Form kForms[] = {
    {"Add", kBase, write_sum},
    {"AffineGrid", 20},
    {"Attention", 23},
    {"AveragePool", kBase, write_plain, opset_of_pool},
    {"Bernoulli", kBase, write_typed},
    {"BitCast", 26, write_typed},
    {"BitwiseAnd", 18},
    {"BitwiseNot", 18},
    {"BitwiseOr", 18},
    {"BitwiseXor", 18},
    {"BlackmanWindow", kBase, write_typed},
    {"Cast", kBase, write_typed},
    {"CausalConvWithState", 27},
    {"CenterCropPad", 18},
    {"Col2Im", 18},
    {"Conv", kBase, write_product},
    {"CumProd", 26},
    {"DFT", 20},
    {"DeformConv", 19},
    {"EyeLike", kBase, write_typed},
    {"Gelu", kBase, write_gelu, opset_of_gelu},
    {"GridSample", kBase, write_grid_sample},
    {"GroupNormalization", 21},
    {"HammingWindow", kBase, write_typed},
    {"HannWindow", kBase, write_typed},
    {"Hardmax", kBase, write_softmax},
    {"Interpolate", kBase, write_resize, opset_of_resize},
    {"LinearAttention", 27},
    {"LogSoftmax", kBase, write_softmax},
    {"MatMul", kBase, write_product},
    {"MelWeightMatrix", kBase, write_typed},
    {"Mish", 18},
    {"Pad", kBase, write_plain, opset_of_pad},
    {"RMSNormalization", 23},
    {"RandomNormal", kBase, write_typed},
    {"RandomNormalLike", kBase, write_typed},
    {"RandomUniform", kBase, write_typed},
    {"RandomUniformLike", kBase, write_typed},
    {"ReduceL1", kBase, write_reduction, opset_of_reduction},
    {"ReduceL2", kBase, write_reduction, opset_of_reduction},
    {"ReduceLogSum", kBase, write_reduction, opset_of_reduction},
    {"ReduceLogSumExp", kBase, write_reduction, opset_of_reduction},
    {"ReduceMax", kBase, write_reduction, opset_of_reduction},
    {"ReduceMean", kBase, write_reduction, opset_of_reduction},
    {"ReduceMin", kBase, write_reduction, opset_of_reduction},
    {"ReduceProd", kBase, write_reduction, opset_of_reduction},
    {"ReduceSumSquare", kBase, write_reduction, opset_of_reduction},
    {"Resize", kBase, write_resize, opset_of_resize},
    {"RotaryEmbedding", 23},
    {"ScatterElements", kBase, write_plain, opset_of_scatter},
    {"ScatterND", kBase, write_plain, opset_of_scatter},
    {"Softmax", kBase, write_softmax},
    {"Split", kBase, write_plain, opset_of_split},
    {"Swish", kBase, write_swish},
    {"TensorScatter", 24},
};

const Form& form_of(const Node& node) {
  static constexpr Form kPlain{};
  const auto at = std::ranges::find(kForms, node.op->name, &Form::op);
  return at == std::end(kForms) ? kPlain : *at;
}

bool is_last_axis(const Graph& graph, const Node& node) {
  const Shape& shape = graph.value(node.inputs[0]).type.shape;
  const s64 axis = attribute_of<&SoftmaxAttributes::axis>(node);
  return axis == -1 || (!shape.is_unknown() && axis == shape.rank() - 1);
}

// Elements of fewer bits than a byte share bytes in a file.
bool is_packed(Dtype dtype) {
  return dtype == Dtype::s4 || dtype == Dtype::u4 || dtype == Dtype::s2 || dtype == Dtype::u2 ||
         dtype == Dtype::e2m1;
}

s64 opset_of_codes(const Graph& graph, const Node& node) {
  if (!is_quantize(node) && !is_dequantize(node)) return kBase;
  const Dtype dtype = graph.value(is_quantize(node) ? node.outputs[0] : node.inputs[0]).type.dtype;
  const bool usual = dtype == Dtype::u8 || dtype == Dtype::s8 || dtype == Dtype::s32;
  return usual && attribute_of<&ScaleAttributes::block_size>(node) == 0 ? kBase : kWideCodes;
}

}  // namespace

void write_node(ModelWriter& writer, const Node& node) {
  writer.keep_float(node.decision.precision == Precision::f32 &&
                    node.op->quant.kind != QuantKind::none);
  form_of(node).write(writer, node);
  writer.keep_float(false);
}

s64 opset_of(const Graph& graph, const Node& node) {
  const Form& form = form_of(node);
  const s64 own = form.opset != nullptr ? form.opset(graph, node) : form.since;
  return std::min(kNewest, std::max(own, opset_of_codes(graph, node)));
}

std::string unwritable(const Graph& graph, const Node& node) {
  if (has_body(node)) return "it holds a graph of its own";
  if (node.op->domain == "octet" && form_of(node).op.empty()) return "ONNX has no such operator";
  if (attribute_of<&SoftmaxAttributes::flatten>(node) && !is_last_axis(graph, node))
    return "it normalizes over several axes, as before opset 13";
  if (attribute_of<&ResizeAttributes::nearest_mode>(node) == ResizeNearest::simple)
    return "its rounding is that of opset 10";
  if (node.op->domain == "ai.onnx.preview") return "its operator is a preview";
  for (const auto& ids : {node.inputs, node.outputs}) {
    for (ValueId id : ids) {
      if (id != kNoValue && is_packed(graph.value(id).type.dtype))
        return fmt::format("{} has elements of less than a byte", graph.value(id).name);
    }
  }
  return {};
}

}  // namespace octet
