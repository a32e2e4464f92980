// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"

#include <algorithm>

#include "core/memory.h"
#include "core/run_work.h"
#include "graph/eval_by.h"
#include "graph/float_attributes.h"
#include "graph/op_traits.h"

namespace octet {

ConstView view(const Tensor& tensor) { return {tensor.dtype(), tensor.shape(), tensor.data()}; }

MutableView mutable_view(Tensor& tensor) {
  return {tensor.dtype(), tensor.shape(), tensor.mutable_data()};
}

std::vector<s64> Inference::required_ints(size_t i, std::string_view what) const {
  const Tensor* tensor = value(i);
  if (tensor == nullptr) needs_data(i, what);
  std::vector<s64> ints;
  if (tensor->dtype() == Dtype::s32) {
    for (s32 v : tensor->as<s32>()) ints.push_back(v);
  } else if (tensor->dtype() == Dtype::s64) {
    for (s64 v : tensor->as<s64>()) ints.push_back(v);
  } else {
    fail(Error::Code::invalid_model, "{} has type {}, expected s32 or s64", what,
         dtype_name(tensor->dtype()));
  }
  return ints;
}

void Inference::needs_data(size_t i, std::string_view what) {
  throw NeedsData(std::string(what), i);
}

MutableView Eval::make(size_t i, const TensorType& type) const {
  OCTET_CHECK(i < made.size());
  if (type.bytes() > max_bytes) {
    fail(Error::Code::out_of_memory, "the result is {} of {} bytes, the limit is {}",
         to_string(type), type.bytes(), max_bytes);
  }
  made[i] = Tensor(type.dtype, type.shape);
  return mutable_view(made[i]);
}

std::string describe(const Node& node) {
  return fmt::format("node '{}' ({})", node.name, node.op->name);
}

void check_runnable(const Node& node) {
  if (node.op->infer == nullptr) {
    fail(Error::Code::invalid_model, "{} exists only in ONNX files", node.op->name);
  }
  const auto required =
      node.op->inputs.max < 0 ? node.inputs.size() : static_cast<size_t>(node.op->inputs.min);
  for (size_t i = 0; i < std::min(required, node.inputs.size()); ++i) {
    if (node.inputs[i] != kNoValue) continue;
    fail(Error::Code::invalid_model, "input {} is omitted, but {} requires it", i, node.op->name);
  }
}

std::vector<TensorType> infer_node(const Node& node, std::vector<TensorType> inputs,
                                   std::vector<const Tensor*> values, s64 sample) {
  Inference inference(node, std::move(inputs), std::move(values));
  inference.sample = sample;
  try {
    check_runnable(node);
    check_float_attributes(node);
    node.op->infer(inference);
    for (const TensorType& type : inference.outputs) {
      if (!type.shape.is_static()) continue;
      check_fits(type.bytes(), "its output " + to_string(type));
    }
  } catch (Error& error) {
    error.add_context("inferring the shape of " + describe(node));
    throw;
  }
  OCTET_CHECK(inference.outputs.size() >= node.outputs.size());
  return std::move(inference.outputs);
}

namespace {

// Refused before anything is allocated: a few bytes of model can ask for terabytes (Tile, Range).
Tensor allocate(const Node& node, const TensorType& type, s64 max_bytes) {
  if (!type.shape.is_static()) return {};
  if (type.bytes() > max_bytes) {
    fail(Error::Code::out_of_memory, "{} makes {} of {} bytes, the limit is {}", describe(node),
         to_string(type), type.bytes(), max_bytes);
  }
  return {type.dtype, type.shape};
}

}  // namespace

std::vector<Tensor> eval_node(const Node& node, std::span<const Tensor> inputs, s64 max_bytes) {
  return eval_node_by(node, inputs, max_bytes, node.op->eval);
}

std::vector<Tensor> eval_node_by(const Node& node, std::span<const Tensor> inputs, s64 max_bytes,
                                 const std::function<void(const Eval&)>& eval) {
  std::vector<TensorType> types;
  std::vector<const Tensor*> values;
  std::vector<ConstView> in;
  for (const Tensor& tensor : inputs) {
    types.push_back(tensor.type());
    values.push_back(tensor ? &tensor : nullptr);
    in.push_back(view(tensor));
  }
  std::vector<Tensor> results;
  std::vector<MutableView> out;
  if (has_body(node)) {
    results.resize(node.outputs.size());  // inferring would run through the body twice
  } else {
    const std::vector<TensorType> outputs = infer_node(node, types, values);
    if (RunWork::is_counting()) {
      const f64 steps = work_of(node, types, outputs);
      if (!RunWork::try_take(steps)) RunWork::refuse(steps, describe(node));
    }
    for (const TensorType& type : outputs) results.push_back(allocate(node, type, max_bytes));
  }
  for (Tensor& tensor : results) out.push_back(mutable_view(tensor));
  try {
    eval({node, in, out, results, max_bytes});
  } catch (Error& error) {
    error.add_context("evaluating " + describe(node));
    throw;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    OCTET_CHECK(node.outputs[i] == kNoValue || results[i]);
  }
  return results;
}

}  // namespace octet
