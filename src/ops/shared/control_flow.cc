// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/control_flow.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "graph/bodies.h"
#include "graph/body_runner.h"
#include "graph/interpret.h"
#include "graph/propagate.h"
#include "ops/attributes/bodies.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

// Bodies are inferred before the run; what takes long or much memory to compute is left to it.
constexpr s64 kFoldBytes = 64 << 10;
constexpr f64 kFoldSteps = 1 << 18;

}  // namespace

const Graph& checked_body(const Node& node, std::string_view name, size_t inputs, s64 outputs) {
  const GraphPtr found = find_body(node, name);
  if (found == nullptr) fail(kInvalid, "attribute '{}' is missing", name);
  const Graph& body = *found;  // as long as the node has it
  if (body.inputs.size() != inputs) {
    fail(kInvalid, "'{}' takes {} inputs, the node gives {}", name, body.inputs.size(), inputs);
  }
  if (outputs >= 0 && body.outputs.size() != static_cast<size_t>(outputs)) {
    fail(kInvalid, "'{}' has {} outputs, expected {}", name, body.outputs.size(), outputs);
  }
  return body;
}

std::vector<TensorType> infer_body(const Graph& body, std::span<const TensorType> types,
                                   std::span<const Tensor> known, s64 sample) {
  PropagateOptions options;
  options.sample = sample;
  options.fold_bytes = kFoldBytes;
  options.keep_products = true;
  FoldingBudget budget(kFoldSteps);
  options.budget = &budget;
  const Propagated facts = propagate(body, types, known, options);
  std::vector<TensorType> outputs;
  for (ValueId id : body.outputs) {
    outputs.push_back(facts.types[id]);
    // A sample of a size is not the size: who asks for the type must not take it for one.
    if (!facts.from_data[id]) continue;
    for (int d = 0; d < outputs.back().shape.rank(); ++d) outputs.back().shape[d] = Shape::kDynamic;
  }
  return outputs;
}

namespace {

// How a node with bodies divides its inputs; attributes tell.
struct Division {
  size_t own = 1;  // If: the condition. Loop: trips and condition, of which the body has its own
  size_t changing = 0;  // carried values or states, each an output of the node too
  size_t sequences = 0;
  bool loops = false;
};

Division division_of(const Node& node) {
  if (has_attribute<&LoopAttributes::carried>(node)) {
    const s64 carried = attribute_of<&LoopAttributes::carried>(node);
    return {.own = 2, .changing = static_cast<size_t>(carried), .sequences = 0, .loops = true};
  }
  if (!has_attribute<&ScanAttributes::num_scan_inputs>(node)) return {};
  const auto scan = attributes_of<ScanAttributes>(node);
  const auto scanned = static_cast<size_t>(scan.num_scan_inputs);
  return {.own = 0,
          .changing = node.inputs.size() - static_cast<size_t>(scan.captures) - scanned,
          .sequences = scanned,
          .loops = false};
}

// Of a Scan of opset 8, what one of its runs gets of states and sequences.
TensorType of_one(const Node& node, const TensorType& type) {
  return attribute_of<&ScanAttributes::batched>(node) ? without_axis(type, 0) : type;
}

// What one round gets of a sequence.
TensorType slice_type(const Node& node, const TensorType& sequence, size_t index) {
  const auto given = attribute_of<&ScanAttributes::scan_input_axes>(node);
  const std::vector<s64> axes = given.value_or(std::vector<s64>());
  return without_axis(of_one(node, sequence), index < axes.size() ? axes[index] : 0);
}

}  // namespace

size_t first_capture(const Node& node) {
  const Division division = division_of(node);
  return division.own + division.changing + division.sequences;
}

std::vector<TensorType> types_inside(const Node& node, std::span<const TensorType> inputs,
                                     std::span<const TensorType> outputs) {
  const Division division = division_of(node);
  std::vector<TensorType> types;
  if (division.loops) types = {{Dtype::s64, {}}, {Dtype::boolean, {}}};
  for (size_t i = division.own; i < inputs.size(); ++i) {
    const size_t at = i - division.own;
    if (at < division.changing) {
      const bool known = at < outputs.size() && node.outputs[at] != kNoValue;
      types.push_back(known ? of_one(node, either_type(inputs[i], outputs[at]))
                            : TensorType{inputs[i].dtype, Shape::unknown()});
    } else if (at < division.changing + division.sequences) {
      types.push_back(slice_type(node, inputs[i], at - division.changing));
    } else {
      types.push_back(inputs[i]);
    }
  }
  return types;
}

std::vector<Tensor> known_inputs(const Inference& inference, size_t first) {
  std::vector<Tensor> known;
  for (size_t i = first; i < inference.inputs.size(); ++i) {
    const Tensor* value = inference.value(i);
    known.push_back(value != nullptr ? *value : Tensor());
  }
  return known;
}

TensorType without_axis(const TensorType& type, s64 axis) {
  if (type.shape.is_unknown()) return type;
  const int dropped = normalize_axis(axis, type.shape.rank());
  TensorType result{type.dtype, {}};
  for (int d = 0; d < type.shape.rank(); ++d) {
    if (d != dropped) result.shape.push_back(type.shape[d]);
  }
  return result;
}

TensorType either_type(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) return {a.dtype, Shape::unknown()};
  TensorType type = a;
  for (int d = 0; d < a.shape.rank(); ++d) {
    if (a.shape[d] != b.shape[d]) type.shape[d] = Shape::kDynamic;
  }
  return type;
}

Tensor borrowed_input(const Eval& eval, size_t i) {
  const ConstView& view = eval.inputs[i];
  const auto* data = static_cast<const std::byte*>(view.data);
  return {{view.dtype, view.shape},
          std::shared_ptr<const std::byte>(data, [](const std::byte*) {})};
}

std::vector<Tensor> run_body(const Graph& body, std::span<const Tensor> inputs, s64 max_bytes) {
  if (BodyRunner* runner = BodyRunner::current()) {
    if (auto results = runner->run(body, inputs)) return std::move(*results);
  }
  return interpret(body, inputs, nullptr, max_bytes);
}

void give(const Eval& eval, size_t i, const Tensor& result) {
  if (i >= eval.outputs.size() || eval.node.outputs[i] == kNoValue) return;
  const MutableView& view = eval.outputs[i];
  if (view.data == nullptr) {
    OCTET_CHECK(i < eval.made.size());
    // A body may hand an input through, and borrowed memory does not outlive the evaluation.
    const bool borrowed = std::ranges::any_of(
        eval.inputs, [&](const ConstView& input) { return input.data == result.data(); });
    eval.made[i] = borrowed ? result.clone() : result;
    return;
  }
  if (result.dtype() != view.dtype || !(result.shape() == view.shape)) {
    fail(kInvalid, "output {} is {}, inference found {}", i, to_string(result.type()),
         to_string(TensorType{view.dtype, view.shape}));
  }
  std::memcpy(view.data, result.data(), result.bytes());
}

Tensor slice_at(const Tensor& tensor, int axis, s64 index) {
  Shape shape;
  for (int d = 0; d < tensor.shape().rank(); ++d) {
    if (d != axis) shape.push_back(tensor.shape()[d]);
  }
  Tensor result(tensor.dtype(), shape);
  const size_t element = dtype_bytes(tensor.dtype());
  const s64 outer = dims_product(tensor.shape(), 0, axis);
  const size_t inner =
      static_cast<size_t>(dims_product(tensor.shape(), axis + 1, tensor.shape().rank())) * element;
  const s64 length = tensor.shape()[axis];
  for (s64 n = 0; n < outer; ++n) {
    std::memcpy(result.mutable_data() + static_cast<size_t>(n) * inner,
                tensor.data() + static_cast<size_t>(n * length + index) * inner, inner);
  }
  return result;
}

Tensor stack(std::span<const Tensor> parts, int axis, const TensorType& empty, s64 max_bytes) {
  const TensorType part = parts.empty() ? empty : parts[0].type();
  Shape shape;
  for (int d = 0; d <= part.shape.rank(); ++d) {
    if (d == axis) shape.push_back(static_cast<s64>(parts.size()));
    if (d < part.shape.rank()) shape.push_back(std::max<s64>(part.shape[d], 0));
  }
  const TensorType type{part.dtype, shape};
  if (type.bytes() > max_bytes) {
    fail(Error::Code::out_of_memory, "the collected result is {} of {} bytes, the limit is {}",
         to_string(type), type.bytes(), max_bytes);
  }
  Tensor result(type.dtype, type.shape);
  const size_t outer = static_cast<size_t>(dims_product(part.shape, 0, std::max(axis, 0)));
  const size_t bytes = parts.empty() || outer == 0 ? 0 : parts[0].bytes() / outer;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].type() != part) {
      fail(kInvalid, "collected results are {} and {}", to_string(part),
           to_string(parts[i].type()));
    }
    for (size_t n = 0; n < outer; ++n) {
      std::memcpy(result.mutable_data() + (n * parts.size() + i) * bytes,
                  parts[i].data() + n * bytes, bytes);
    }
  }
  return result;
}

bool condition_of(const Tensor& tensor) {
  if (tensor.dtype() != Dtype::boolean || tensor.elements() != 1) {
    fail(kInvalid, "the condition is {}, expected one bool", to_string(tensor.type()));
  }
  return tensor.as<bool>()[0];
}

}  // namespace octet
