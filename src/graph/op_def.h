// SPDX-License-Identifier: Apache-2.0
// What an operator is: one constant-initialised OpDef per file of src/ops/, listed in ops.def.
// Opset numbers are seen by `parse` alone; after import every node has the operator's one canonical form.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/types.h"
#include "graph/graph.h"
#include "octet/tensor.h"

namespace octet {

// A view of a tensor during evaluation. `data` is null for an omitted optional input.
struct ConstView {
  Dtype dtype = Dtype::f32;
  Shape shape;
  const void* data = nullptr;

  explicit operator bool() const { return data != nullptr; }
  template <class T>
  std::span<const T> as() const {
    check_dtype(DtypeOf<T>::value, dtype);
    return {static_cast<const T*>(data), static_cast<size_t>(shape.elements())};
  }
};

struct MutableView {
  Dtype dtype = Dtype::f32;
  Shape shape;
  void* data = nullptr;

  template <class T>
  std::span<T> as() const {
    check_dtype(DtypeOf<T>::value, dtype);
    return {static_cast<T*>(data), static_cast<size_t>(shape.elements())};
  }
};

ConstView view(const Tensor& tensor);
MutableView mutable_view(Tensor& tensor);

// Thrown by infer when an output's type follows from data that are not known yet. No error: propagate() leaves such
// values to the run.
class NeedsData : public Error {
 public:
  NeedsData(const std::string& what, size_t i)
      : Error(Code::unsupported, what + " depends on run-time data"), input(i) {}
  size_t input;  // whose value was asked for
};

// Handed to OpDef::infer. Input shapes are concrete: graphs with dynamic dimensions are inferred for sample sizes.
class Inference {
 public:
  Inference(const Node& n, std::vector<TensorType> types, std::vector<const Tensor*> known)
      : node(n), inputs(std::move(types)), values_(std::move(known)) {}

  const Node& node;
  std::vector<TensorType> inputs;  // an omitted input has rank 0 and has_input() false
  // To be filled, one for each of node.outputs. A dimension that only the data tell is Shape::kDynamic, a rank that only
  // they tell is Shape::unknown(); eval then makes the tensor (Eval::make).
  std::vector<TensorType> outputs;

  bool has_input(size_t i) const { return node.input(i) != kNoValue; }
  // The input's value where it is known before the run (constants and folded shape arithmetic), else null.
  const Tensor* value(size_t i) const { return i < values_.size() ? values_[i] : nullptr; }
  // The value as s64 list (accepts s32 and s64); needs_data() when it depends on run-time data.
  std::vector<s64> required_ints(size_t i, std::string_view what) const;
  // Ends infer: the output types follow from `what`, the value of input i, which is not known before the run.
  [[noreturn]] static void needs_data(size_t i, std::string_view what);
  // Stands for a dimension that only data tell, in the bodies of control flow; 0: there such values stay unknown.
  s64 sample = 0;

  void same_as_input(size_t i) { outputs.push_back(inputs[i]); }
  void output(Dtype dtype, const Shape& shape) { outputs.push_back({dtype, shape}); }

 private:
  std::vector<const Tensor*> values_;
};

inline constexpr s64 kDefaultMaxBytes = s64{8} << 30;

// Handed to OpDef::eval: dense row-major tensors; outputs have the inferred types and hold arbitrary bytes.
struct Eval {
  const Node& node;
  std::span<const ConstView> inputs;  // one for each of node.inputs
  std::span<const MutableView> outputs;
  std::span<Tensor> made = {};  // one for each output; see make()
  s64 max_bytes =
      kDefaultMaxBytes;  // bound on a tensor that make() or the body of a node allocates

  // Provides an output whose inferred type is not static (its view has no data). Fails beyond max_bytes.
  MutableView make(size_t i, const TensorType& type) const;

  bool has_input(size_t i) const { return i < inputs.size() && inputs[i]; }
};

class NodeParser;   // ops/shared/node_parser.h
class WeightCodes;  // ops/quantized/weight_codes.h

// How precision assignment and Q/DQ placement treat an operator.
enum class QuantKind : u8 {
  none,        // no integer form: a float island (or shape arithmetic)
  compute,     // multiplies by constant weights or another activation: Conv, MatMul
  arithmetic,  // several quantized inputs with their own scales: Add, Mul, AveragePool, ReduceMean
  move_codes,  // codes move and the scale stays: MaxPool, Reshape, Transpose, Slice, Gather, Pad, Resize nearest, Concat
  table,       // a unary function: 256-entry table
};

// One input of a float node that is about to become an integer node.
struct QuantizedInput {
  ValueId codes =
      kNoValue;  // what its DequantizeLinear reads (activation codes, or constant s8/u8/s32 codes); kNoValue: real
  Tensor scale;        // f32, one element or one for each index along `axis`
  s32 zero_point = 0;  // of activations and per-tensor weights
  s64 axis = 0;
  bool zero_points_are_zero = true;  // false: some element of a per-axis zero point differs from 0

  f32 scalar_scale() const { return scale.as<f32>()[0]; }
};

// What an integer form is built from: a float node whose activation inputs come from DequantizeLinear and whose output,
// unless it stays real, goes to QuantizeLinear.
struct QuantizeRequest {
  Graph& graph;      // add constants and read weights here
  const Node& node;  // the float node; real constant inputs (weights, bias) are read from it
  std::vector<QuantizedInput> inputs;  // one for each input of node
  QuantParams output;                  // meaningful when output_dtype is u8 or s8
  Dtype output_dtype;                  // u8, s8, or f32 when the result stays real
  WeightCodes* weight_codes =
      nullptr;  // codes of weights that other variants of the model made; may be null
};

// The integer node without name, outputs and origins (the caller fills those), or the reason why there is none.
struct QuantizeResult {
  Node node;
  std::string reject;  // empty when `node` is valid; else one sentence
};

struct QuantRule {
  QuantKind kind = QuantKind::none;
  // Null for none and move_codes (the node itself runs on codes).
  QuantizeResult (*quantize)(const QuantizeRequest&) = nullptr;
  // The input whose range the output shares (move_codes); -1: all inputs and the output share one (Concat).
  int moved_input = 0;
};

// Codes move and the scale stays.
inline constexpr QuantRule kMovesCodes{.kind = QuantKind::move_codes};

struct Arity {
  int min = 1;
  int max = 1;  // -1: any number
};

struct OpTraits;  // graph/op_traits.h
extern const OpTraits kPlainTraits;

// Meaning, form and quantization. What others ask of some operators only is a trait: new knowledge goes there
// (docs/adr/0014), and no tenth field here. An operator says what differs from these defaults: of ai.onnx, one input, one output.
struct OpDef {
  std::string_view name;         // the canonical name, ONNX's where there is one
  std::string_view domain = "";  // or "com.microsoft"; "octet": in no ONNX file
  Arity inputs = {};
  Arity outputs = {};
  void (*parse)(NodeParser&) = nullptr;  // null: the ONNX node is already canonical
  void (*infer)(Inference&) = nullptr;   // fills outputs or throws Error
  void (*eval)(const Eval&) = nullptr;   // the definition of correct: plain scalar code
  QuantRule quant = {};
  const OpTraits* traits = &kPlainTraits;
};

// "node 'conv1' (Conv)", for error context.
std::string describe(const Node& node);

// Throws Error(invalid_model) where the node cannot stand in a graph: an engine file may name any operator, also one that only ONNX files
// have, and an ONNX file may leave out any input by an empty name, while operators read their required ones unasked.
void check_runnable(const Node& node);

// Result types of one node for concrete input types; adds the node to the error's context. They are static unless they
// depend on data. Throws NeedsData when nothing can be said about them.
std::vector<TensorType> infer_node(const Node& node, std::vector<TensorType> inputs,
                                   std::vector<const Tensor*> values, s64 sample = 0);
// Runs the scalar reference on host tensors. Inputs of omitted optional values are empty tensors.
// Throws Error(out_of_memory) before an output would pass `max_bytes`.
std::vector<Tensor> eval_node(const Node& node, std::span<const Tensor> inputs,
                              s64 max_bytes = kDefaultMaxBytes);

}  // namespace octet
