// SPDX-License-Identifier: Apache-2.0
// Scan(state..., sequences..., captures...) {body, num_scan_inputs, captures}: the body (state..., slices..., captures...)
// -> (state..., slices...) runs once for each slice of the sequences; its slices are stacked. batched=1 (opset 8) does so
// for each index of a leading batch axis.
#include <algorithm>

#include "core/rounds.h"
#include "graph/op_traits.h"
#include "ops/attributes/bodies.h"
#include "ops/shared/axes.h"
#include "ops/shared/control_flow.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

// How a node's inputs and outputs divide, and along which axes it moves.
class Division {
 public:
  explicit Division(const Node& node)
      : batched(attribute_of<&ScanAttributes::batched>(node)),
        body(checked_body(node, "body", node.inputs.size(), -1)) {
    const s64 inputs = static_cast<s64>(node.inputs.size());
    const auto attributes = attributes_of<ScanAttributes>(node);
    const s64 captures = attributes.captures, scanned = attributes.num_scan_inputs;
    if (captures < 0 || scanned < 1 || captures > inputs || scanned > inputs - captures) {
      fail(kInvalid, "{} of {} inputs are scanned and {} captured", scanned, inputs, captures);
    }
    sequences = static_cast<size_t>(scanned);
    states = static_cast<size_t>(inputs - captures - scanned);
    if (body.outputs.size() < states || body.outputs.size() < node.outputs.size()) {
      fail(kInvalid, "the body has {} outputs for {} states and {} outputs of the node",
           body.outputs.size(), states, node.outputs.size());
    }
    collected = body.outputs.size() - states;
    input_axes = list<&ScanAttributes::scan_input_axes>(attributes, sequences);
    input_directions = list<&ScanAttributes::scan_input_directions>(attributes, sequences);
    output_axes = list<&ScanAttributes::scan_output_axes>(attributes, collected);
    output_directions = list<&ScanAttributes::scan_output_directions>(attributes, collected);
  }

  const bool batched;
  const Graph& body;
  size_t states = 0, sequences = 0, collected = 0;
  std::vector<s64> input_axes, input_directions, output_axes, output_directions;

  // The common length of the sequences, whose types come without the batch axis.
  s64 length(std::span<const TensorType> inputs) const {
    s64 result = -1;
    for (size_t i = 0; i < sequences; ++i) {
      const Shape& shape = inputs[states + i].shape;
      const s64 own = shape[normalize_axis(input_axes[i], shape.rank())];
      if (result >= 0 && own != result) fail(kInvalid, "sequences of {} and {}", result, own);
      result = own;
    }
    return result;
  }

 private:
  template <auto kList>
  static std::vector<s64> list(const ScanAttributes& attributes, size_t count) {
    std::vector<s64> values = (attributes.*kList).value_or(std::vector<s64>(count, 0));
    if (values.size() != count) {
      fail(kInvalid, "{} has {} elements, expected {}", attribute_name<kList>(), values.size(),
           count);
    }
    return values;
  }
};

// Opset 8: a batch axis leads, and each sequence may have its own length.
void parse_batched(NodeParser& parser) {
  Node& node = parser.node;
  if (node.input(0) != kNoValue) {
    fail(Error::Code::unsupported, "Scan of opset 8 with lengths of its own for each sequence");
  }
  node.inputs.erase(node.inputs.begin());
  set_attribute<&ScanAttributes::batched>(node.attrs, true);
  if (node.attrs.has("directions")) {
    set_attribute<&ScanAttributes::scan_input_directions>(node.attrs,
                                                          node.attrs.ints("directions"));
    node.attrs.erase("directions");
  }
}

void parse(NodeParser& parser) {
  if (parser.opset < 9) parse_batched(parser);
  Division{parser.node};  // checks the structure
}

TensorType with_axis(const TensorType& type, s64 axis, s64 size) {
  if (type.shape.is_unknown()) return type;
  const int at = normalize_axis(axis, type.shape.rank() + 1);
  TensorType result{type.dtype, {}};
  for (int d = 0; d <= type.shape.rank(); ++d) {
    if (d == at) result.shape.push_back(size);
    if (d < type.shape.rank()) result.shape.push_back(type.shape[d]);
  }
  return result;
}

// Removes the batch axis of states and sequences; returns its size.
s64 unbatch(const Division& division, std::vector<TensorType>& types) {
  s64 batch = -1;
  for (size_t i = 0; i < division.states + division.sequences; ++i) {
    const s64 own = types[i].shape[normalize_axis(0, types[i].shape.rank())];
    if (batch >= 0 && own != batch) fail(kInvalid, "batches of {} and {}", batch, own);
    batch = own;
    types[i] = without_axis(types[i], 0);
  }
  return batch;
}

// What one trip of the body is given, from the types of the (unbatched) inputs.
std::vector<TensorType> trip_types(const Division& division, std::vector<TensorType> types) {
  for (size_t i = 0; i < division.sequences; ++i) {
    TensorType& type = types[division.states + i];
    type = without_axis(type, normalize_axis(division.input_axes[i], type.shape.rank()));
  }
  return types;
}

void infer(Inference& inference) {
  const Division division(inference.node);
  std::vector<TensorType> types = inference.inputs;
  const s64 batch = division.batched ? unbatch(division, types) : 0;
  const s64 length = division.length(types);
  std::vector<Tensor> known(division.states + division.sequences);
  for (Tensor& tensor : known_inputs(inference, known.size())) known.push_back(std::move(tensor));
  std::vector<TensorType> outputs =
      infer_body(division.body, trip_types(division, types), known, inference.sample);
  bool stable = true;
  for (size_t i = 0; i < division.states; ++i) {
    stable = stable && outputs[i] == types[i];
    outputs[i] = either_type(types[i], outputs[i]);
  }
  for (size_t i = 0; i < division.collected; ++i) {
    TensorType& type = outputs[division.states + i];
    type = with_axis(type, division.output_axes[i], length);
  }
  for (TensorType& type : outputs) {
    if (division.batched) type = with_axis(type, 0, batch);
    if (!stable) type.shape = Shape::unknown();
  }
  inference.outputs = std::move(outputs);
}

// All trips over one batch; returns the states and the stacked slices.
std::vector<Tensor> run_trips(const Division& division, std::vector<Tensor> inputs, s64 max_bytes) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  const s64 length = division.length(types);
  const LoopRounds rounds;
  LoopRounds::count(length);  // before anything of it is taken
  const std::vector<Tensor> sequences(
      inputs.begin() + static_cast<s64>(division.states),
      inputs.begin() + static_cast<s64>(division.states + division.sequences));
  std::vector<std::vector<Tensor>> collected(division.collected);
  for (s64 trip = 0; trip < length; ++trip) {
    for (size_t i = 0; i < division.sequences; ++i) {
      const s64 at = division.input_directions[i] != 0 ? length - 1 - trip : trip;
      const int axis = normalize_axis(division.input_axes[i], sequences[i].shape().rank());
      inputs[division.states + i] = slice_at(sequences[i], axis, at);
    }
    std::vector<Tensor> results = run_body(division.body, inputs, max_bytes);
    for (size_t i = 0; i < division.states; ++i) inputs[i] = results[i];
    for (size_t i = 0; i < division.collected; ++i) {
      collected[i].push_back(std::move(results[division.states + i]));
    }
  }
  std::vector<Tensor> results(inputs.begin(), inputs.begin() + static_cast<s64>(division.states));
  const std::vector<TensorType> parts =
      infer_body(division.body, trip_types(division, types), {}, 0);
  for (size_t i = 0; i < division.collected; ++i) {
    if (division.output_directions[i] != 0) std::ranges::reverse(collected[i]);
    const TensorType& part = parts[division.states + i];
    const int rank = collected[i].empty() ? part.shape.rank() : collected[i][0].shape().rank();
    results.push_back(
        stack(collected[i], normalize_axis(division.output_axes[i], rank + 1), part, max_bytes));
  }
  return results;
}

void eval(const Eval& eval) {
  const Division division(eval.node);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < eval.inputs.size(); ++i) inputs.push_back(borrowed_input(eval, i));
  if (!division.batched) {
    const std::vector<Tensor> results = run_trips(division, inputs, eval.max_bytes);
    for (size_t i = 0; i < results.size(); ++i) give(eval, i, results[i]);
    return;
  }
  std::vector<std::vector<Tensor>> of_output(division.body.outputs.size());
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  const s64 batch = unbatch(division, types);
  if (batch == 0) fail(Error::Code::unsupported, "Scan of opset 8 over an empty batch");
  for (s64 n = 0; n < batch; ++n) {
    std::vector<Tensor> one = inputs;
    for (size_t i = 0; i < division.states + division.sequences; ++i) {
      one[i] = slice_at(inputs[i], 0, n);
    }
    const std::vector<Tensor> results = run_trips(division, std::move(one), eval.max_bytes);
    for (size_t i = 0; i < results.size(); ++i) of_output[i].push_back(results[i]);
  }
  for (size_t i = 0; i < of_output.size(); ++i) {
    give(eval, i, stack(of_output[i], 0, {}, eval.max_bytes));
  }
}

constexpr std::string_view kBodies[] = {"body"};

}  // namespace

extern constinit const OpDef kScan = runs_bodies<kBodies>(
    {.name = "Scan", .inputs = {1, -1}, .parse = parse, .infer = infer, .eval = eval});
}  // namespace octet
