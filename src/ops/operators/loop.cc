// SPDX-License-Identifier: Apache-2.0
// Loop(trips, condition, carried..., captures...) {body, carried}: runs the body (iteration, condition,
// carried..., captures...) -> (condition, carried..., collected...) while the condition holds, at most `trips` times.
#include <algorithm>
#include <limits>

#include "core/rounds.h"
#include "graph/op_traits.h"
#include "octet/limits.h"
#include "ops/attributes/bodies.h"
#include "ops/shared/control_flow.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;
// Rounds after which types that still change are taken as unknown.
constexpr int kRounds = 4;

size_t carried_count(const Node& node) {
  const s64 carried = attribute_of<&LoopAttributes::carried>(node);
  if (carried < 0 || node.inputs.size() < 2 || static_cast<u64>(carried) > node.inputs.size() - 2) {
    fail(kInvalid, "the loop carries {} of {} inputs", carried, node.inputs.size());
  }
  return static_cast<size_t>(carried);
}

const Graph& loop_body(const Node& node) {
  const Graph& body = checked_body(node, "body", node.inputs.size(), -1);
  const size_t carried = carried_count(node);
  if (body.outputs.size() < 1 + carried || body.outputs.size() - 1 < node.outputs.size()) {
    fail(kInvalid, "the body has {} outputs for {} carried values and {} outputs of the node",
         body.outputs.size(), carried, node.outputs.size());
  }
  return body;
}

// The canonical form omits neither the number of trips nor the condition.
void parse(NodeParser& parser) {
  Node& node = parser.node;
  if (!parser.has_input(0)) {
    parser.set_input(0, Tensor::scalar<s64>(std::numeric_limits<s64>::max()));
  }
  if (!parser.has_input(1)) parser.set_input(1, Tensor::scalar<bool>(true));
  const s64 captures = node.attrs.i("captures", 0);
  node.attrs.erase("captures");
  set_attribute<&LoopAttributes::carried>(node.attrs, std::ssize(node.inputs) - 2 - captures);
  loop_body(node);  // checks the structure
}

void check_scalar(const Inference& inference, size_t i, Dtype dtype) {
  const TensorType& type = inference.inputs[i];
  if (type.dtype == dtype && type.shape.elements() == 1) return;
  fail(kInvalid, "input {} is {}, expected one {}", i, to_string(type), dtype_name(dtype));
}

// Types of the body's outputs, and whether the carried ones stay what they are.
struct BodyTypes {
  std::vector<TensorType> outputs;
  bool stable = true;
};

BodyTypes infer_round(const Inference& inference, const Graph& body,
                      std::span<const TensorType> inputs) {
  const size_t carried = carried_count(inference.node);
  std::vector<Tensor> known(2 + carried);  // these change from trip to trip
  for (Tensor& tensor : known_inputs(inference, 2 + carried)) known.push_back(std::move(tensor));
  BodyTypes types{infer_body(body, inputs, known, inference.sample), true};
  for (size_t i = 0; i < carried; ++i) {
    types.stable = types.stable && types.outputs[1 + i] == inputs[2 + i];
  }
  return types;
}

// Graphs inside of each other in the body's nodes.
int height_of(const Graph& body) {
  int height = 0;
  for (const Node& node : body.nodes) {
    for (const auto& [name, value] : node.attrs.entries()) {
      const GraphPtr* inner = std::get_if<GraphPtr>(&value);
      if (inner != nullptr) height = std::max(height, 1 + height_of(**inner));
    }
  }
  return height;
}

// Each round infers the loops inside again, whose rounds multiply: only loops with one level inside go round.
int rounds_of(const Graph& body) { return height_of(body) <= 1 ? kRounds : 0; }

// A loop without trips yields its inputs: the types of carried values cover those, too.
BodyTypes infer_types(const Inference& inference) {
  const Graph& body = loop_body(inference.node);
  const size_t carried = carried_count(inference.node);
  std::vector<TensorType> inputs = inference.inputs;
  inputs[0] = {Dtype::s64, {}};
  inputs[1] = {Dtype::boolean, {}};
  BodyTypes types = infer_round(inference, body, inputs);
  std::vector<TensorType> seen(inputs.begin() + 2, inputs.begin() + 2 + static_cast<s64>(carried));
  const bool stable = types.stable;
  const int rounds = stable || inference.sample == 0 ? 0 : rounds_of(body);
  for (int round = 0; round < rounds && !types.stable; ++round) {
    const BodyTypes before = types;
    for (size_t i = 0; i < carried; ++i) {
      seen[i] = either_type(seen[i], types.outputs[1 + i]);
      inputs[2 + i] = types.outputs[1 + i];
    }
    if (std::ranges::any_of(inputs, [](const TensorType& t) { return !t.shape.is_static(); }))
      break;
    types = infer_round(inference, body, inputs);
    for (size_t i = 0; i < types.outputs.size(); ++i) {
      types.outputs[i] = either_type(types.outputs[i], before.outputs[i]);
    }
  }
  for (size_t i = 0; i < carried; ++i)
    types.outputs[1 + i] = either_type(seen[i], types.outputs[1 + i]);
  types.stable = stable;
  return types;
}

// Whether the condition that holds holds on: the body hands it back.
bool holds_on(const Graph& body) {
  ValueId id = body.outputs[0];
  for (size_t at = body.nodes.size(); at-- > 0 && id != body.inputs[1];) {  // by dependencies
    const Node& node = body.nodes[at];
    if (std::ranges::find(node.outputs, id) == node.outputs.end()) continue;
    if (node.op->name != std::string_view("Identity")) return false;
    id = node.inputs[0];
  }
  return id == body.inputs[1];
}

// The trips of a loop that is told their number and ends no earlier, as exporters write what runs over a sequence.
s64 certain_trips(const Inference& inference) {
  const Tensor* trips = inference.value(0);
  const Tensor* condition = inference.value(1);
  const bool is_known = trips != nullptr && condition != nullptr && condition_of(*condition);
  if (!is_known || !holds_on(loop_body(inference.node))) return Shape::kDynamic;
  const s64 count = std::max<s64>(0, trips->as<s64>()[0]);
  return count <= Limits{}.loop_trips ? count : Shape::kDynamic;
}

void infer(Inference& inference) {
  check_scalar(inference, 0, Dtype::s64);
  check_scalar(inference, 1, Dtype::boolean);
  const size_t carried = carried_count(inference.node);
  const BodyTypes types = infer_types(inference);
  const s64 trips = certain_trips(inference);
  for (size_t i = 1; i < types.outputs.size(); ++i) {
    TensorType type = types.outputs[i];
    if (i > carried) {
      const Shape part = type.shape;
      type.shape = part.is_unknown() ? part : Shape{trips};
      for (s64 dim : part) type.shape.push_back(dim);
    }
    // What changes in one trip may change in more than dimensions in the next.
    if (!types.stable && inference.sample == 0) type.shape = Shape::unknown();
    inference.outputs.push_back(type);
  }
}

class Trips {
 public:
  explicit Trips(const Eval& eval)
      : eval_(eval),
        body_(loop_body(eval.node)),
        carried_(carried_count(eval.node)),
        collected_(body_.outputs.size() - 1 - carried_) {
    for (size_t i = 0; i < eval.inputs.size(); ++i) inputs_.push_back(borrowed_input(eval, i));
  }

  void run() {
    const TensorType& type = inputs_[0].type();
    if (type.dtype != Dtype::s64 || type.shape.elements() != 1) {
      fail(kInvalid, "the number of trips is {}, expected one s64", to_string(type));
    }
    const s64 trips = inputs_[0].as<s64>()[0];
    const LoopRounds rounds;
    bool condition = condition_of(inputs_[1]);
    for (s64 trip = 0; trip < trips && condition; ++trip) {
      LoopRounds::count();
      condition = run_trip(trip, condition);
    }
    for (size_t i = 0; i < carried_; ++i) give(eval_, i, inputs_[2 + i]);
    for (size_t i = 0; i < collected_.size(); ++i) {
      const TensorType empty = collected_[i].empty() ? empty_type(i) : TensorType{};
      give(eval_, carried_ + i, stack(collected_[i], 0, empty, eval_.max_bytes));
    }
  }

 private:
  bool run_trip(s64 trip, bool condition) {
    inputs_[0] = Tensor::scalar<s64>(trip);
    inputs_[1] = Tensor::scalar<bool>(condition);
    std::vector<Tensor> results = run_body(body_, inputs_, eval_.max_bytes);
    for (size_t i = 0; i < carried_; ++i) inputs_[2 + i] = std::move(results[1 + i]);
    for (size_t i = 0; i < collected_.size(); ++i) {
      bytes_ += static_cast<s64>(results[1 + carried_ + i].bytes());
      collected_[i].push_back(std::move(results[1 + carried_ + i]));
    }
    if (bytes_ > eval_.max_bytes) {
      fail(Error::Code::out_of_memory,
           "after {} trips the loop has collected {} bytes, the limit is {}", trip + 1, bytes_,
           eval_.max_bytes);
    }
    return condition_of(results[0]);
  }

  // Of a collected value that no trip made.
  TensorType empty_type(size_t i) const {
    std::vector<TensorType> types;
    for (const Tensor& input : inputs_) types.push_back(input.type());
    types[0] = {Dtype::s64, {}};
    types[1] = {Dtype::boolean, {}};
    return infer_body(body_, types, {}, 0)[1 + carried_ + i];
  }

  const Eval& eval_;
  const Graph& body_;
  size_t carried_;
  std::vector<Tensor> inputs_;  // of the next trip
  std::vector<std::vector<Tensor>> collected_;
  s64 bytes_ = 0;
};

void eval(const Eval& eval) { Trips(eval).run(); }

constexpr std::string_view kBodies[] = {"body"};

}  // namespace

extern constinit const OpDef kLoop = runs_bodies<kBodies>(
    {.name = "Loop", .inputs = {2, -1}, .parse = parse, .infer = infer, .eval = eval});
}  // namespace octet
