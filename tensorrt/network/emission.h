// SPDX-License-Identifier: Apache-2.0
// Writes one layer as ONNX nodes. The same code serves building, with weights, and inference of sizes, where weights are inputs of which
// only the type is told.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tensorrt/network/layer.h"
#include "tensorrt/shared/onnx_text.h"

namespace octet_trt {

// The model in the making.
struct ModelText {
  std::vector<OnnxNode> nodes;
  std::vector<std::string> initializers;
  std::vector<std::string> inputs;   // ValueInfoProtos
  std::vector<std::string> outputs;  // likewise
  bool with_weights = true;
  std::set<std::string>* taken = nullptr;  // names of weights so far
  int64_t counter = 0;

  std::string fresh(const std::string& stem) { return stem + "~" + std::to_string(counter++); }
};

inline constexpr int64_t kFew = 64;

// Fields of a model around its graph, where no model was parsed.
std::string head_of_own();

// A ValueInfoProto without a type.
std::string only_name(const std::string& name);

// As a GraphProto; `more` are fields of it.
std::string bytes_of_graph(const ModelText& model, const std::string& more);

// These values become the outputs of the model, whatever they are.
void hand_on(const std::vector<std::string>& names, ModelText& model);

// A model that only hands the inputs of another one on: enough to read their types.
std::string inputs_of(const OnnxModel& model);

class Emission {
 public:
  Emission(ModelText& model, LayerCore& layer) : model_(model), layer_(layer) {}

  bool has(size_t i) const { return layer_.input(i) != nullptr; }
  const std::string& in(size_t i) const;
  // An input as 64-bit integers, which ONNX wants of sizes and indices.
  std::string in_as_int64(size_t i);
  Dims dims(size_t i) const;  // as clients see them
  octet::Dtype dtype(size_t i) const;
  size_t input_count() const { return layer_.inputs.size(); }
  const std::string& out(size_t i = 0) const;
  std::optional<DataType> output_type(size_t i = 0) const;
  LayerCore& layer() const { return layer_; }

  // 1 where the batch stands before the dimensions that clients see.
  int batch() const;
  int64_t axis(int64_t seen) const { return seen + batch(); }
  std::vector<int64_t> axes(uint32_t mask) const;  // as the model counts them

  // A node with one output of its own, whose name is returned.
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   OnnxAttributes attributes = {});
  // A node that writes output i of the layer.
  void last(const std::string& op, std::vector<std::string> inputs, OnnxAttributes attributes = {},
            size_t i = 0);
  // A node of another domain.
  void custom(const std::string& domain, const std::string& op, std::vector<std::string> inputs,
              std::vector<std::string> outputs, OnnxAttributes attributes);
  std::string fresh(size_t i) { return model_.fresh(out(i)); }
  void node_with(const std::string& op, std::vector<std::string> inputs,
                 std::vector<std::string> outputs, OnnxAttributes attributes);

  // Weights of the layer, of which there must be as many as the sizes say.
  std::string weights(const Weights& weights, const std::vector<int64_t>& sizes, const char* role);
  std::string floats(const std::vector<float>& values, const std::vector<int64_t>& sizes);
  std::string scalar(float value) { return floats({value}, {}); }
  std::string integers(const std::vector<int64_t>& values);
  std::string cast(const std::string& value, octet::Dtype to);

 private:
  std::string constant(const octet::TensorType& type, std::string_view raw, bool always,
                       const std::string& wanted = "");
  std::string weights_name(const Weights& weights, const std::string& role) const;
  ModelText& model_;
  LayerCore& layer_;
};

std::string as_f32(const Weights& weights);  // raw bytes; half floats are widened

}  // namespace octet_trt
