// SPDX-License-Identifier: Apache-2.0
// Loops and conditions as nodes of a model.
#include <algorithm>
#include <limits>
#include <utility>

#include "integrations/wire/wire.h"
#include "tensorrt/network/scope.h"

namespace octet_trt {

using octet_wire::WireWriter;

void emit_layer(const IRecurrenceLayer&, Emission& out) { out.last("Identity", {out.in(0)}); }
void emit_layer(const ITripLimitLayer&, Emission&) {}
void emit_layer(const IIteratorLayer& layer, Emission& out) {
  const std::string first = out.node("Squeeze", {out.integers({0})});
  out.last("Gather", {out.in(0), first}, {{"axis", int64_t{layer.getAxis()}}});
}

void emit_layer(const ILoopOutputLayer& layer, Emission& out) {
  if (layer.getLoopOutput() == LoopOutput::kLAST_VALUE) return out.last("Identity", {out.in(0)});
  const int64_t rank = out.dims(0).nbDims, axis = layer.getAxis();
  if (axis < 0 || axis > rank)
    refuse("layer '" + out.layer().name + "': there is no axis " + std::to_string(axis) +
           " among its output's " + std::to_string(rank + 1));
  const std::string rows = out.node("Reshape", {out.in_as_int64(1), out.integers({1})});
  const std::vector<int64_t> before(static_cast<size_t>(axis), 1);
  const std::vector<int64_t> behind(static_cast<size_t>(rank - axis), 1);
  const std::string sizes = out.node("Concat", {out.integers(before), rows, out.integers(behind)},
                                     {{"axis", int64_t{0}}});
  const std::string row = out.node("Unsqueeze", {out.in(0), out.integers({axis})});
  out.last("Expand", {row, sizes});
}

void emit_layer(const IConditionLayer&, Emission&) {}
void emit_layer(const IIfConditionalInputLayer&, Emission& out) {
  out.last("Identity", {out.in(0)});
}
// Of one type and size whichever side is taken, as far as they are known.
void emit_layer(const IIfConditionalOutputLayer&, Emission& out) {
  const Dims yes = out.dims(0), no = out.dims(1);
  bool fits =
      out.dtype(0) == out.dtype(1) && (yes.nbDims < 0 || no.nbDims < 0 || yes.nbDims == no.nbDims);
  for (int32_t i = 0; fits && i < std::min(yes.nbDims, no.nbDims); ++i)
    fits = yes.d[i] < 0 || no.d[i] < 0 || yes.d[i] == no.d[i];
  if (!fits)
    refuse("layer '" + out.layer().name + "': its sides '" + out.layer().input(0)->name + "' of " +
           to_string(yes) + " and '" + out.layer().input(1)->name + "' of " + to_string(no) +
           " differ in their sizes or their type");
  out.last("Identity", {out.in(0)});
}

namespace {

using octet::Dtype;

// Nodes around a scope, whose names follow from what they are for.
class Around {
 public:
  Around(ModelText& model, std::string stem) : model_(model), stem_(std::move(stem)) {}

  std::string fresh() { return model_.fresh(stem_); }
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   const OnnxAttributes& attributes = {}) {
    const std::string value = fresh();
    node_to(value, op, std::move(inputs), attributes);
    return value;
  }
  void node_to(const std::string& output, const std::string& op, std::vector<std::string> inputs,
               const OnnxAttributes& attributes = {}) {
    WireWriter rest;
    for (const OnnxAttribute& attribute : attributes) rest.bytes(5, to_wire(attribute));
    model_.nodes.push_back({op, "", output, std::move(inputs), {output}, rest.take()});
  }
  std::string integers(const std::vector<int64_t>& values, bool is_scalar = false) {
    const octet::Shape shape =
        is_scalar ? octet::Shape{} : octet::Shape{static_cast<int64_t>(values.size())};
    return constant({Dtype::s64, shape}, values.data(), values.size() * sizeof(int64_t));
  }
  std::string truth() {
    const bool holds = true;
    return constant({Dtype::boolean, octet::Shape{}}, &holds, sizeof holds);
  }
  std::string scalar(const Tensor& tensor) {
    std::string value = tensor.onnx_name();
    const Dtype type = tensor.model_type().dtype;
    if (type != Dtype::s64 && type != Dtype::boolean)
      value = node("Cast", {value}, {{"to", onnx_type_of(Dtype::s64)}});
    return node("Reshape", {value, integers({})});
  }
  // An output of a graph: each has a name of its own.
  void give(const std::string& value) {
    const std::string copy = node("Identity", {value});
    model_.outputs.push_back(only_name(copy));
  }
  std::string reversed(const std::string& value, int64_t axis) {
    return node("Slice", {value, integers({-1}), integers({std::numeric_limits<int64_t>::min()}),
                          integers({axis}), integers({-1})});
  }

 private:
  std::string constant(const octet::TensorType& type, const void* bytes, size_t count) {
    std::string name = model_.fresh(stem_ + ".weights");  // no refit sees it
    model_.initializers.push_back(
        tensor_proto(name, type, {static_cast<const char*>(bytes), count}));
    return name;
  }

  ModelText& model_;
  std::string stem_;
};

// A graph inside of another, whose values it may read.
ModelText graph_in(const ModelText& model) {
  ModelText graph;
  graph.with_weights = model.with_weights;
  graph.taken = model.taken;
  graph.counter = model.counter;
  return graph;
}

// The graph as an attribute; constants and what was counted belong to the one around it.
std::string attribute_of(const char* name, ModelText& graph, ModelText& model) {
  model.counter = graph.counter;
  std::ranges::move(graph.initializers, std::back_inserter(model.initializers));
  graph.initializers.clear();
  WireWriter attribute;
  attribute.bytes(1, name);
  attribute.bytes(6, bytes_of_graph(graph, ""));
  attribute.integer(20, 5);  // AttributeProto.GRAPH
  WireWriter field;
  field.bytes(5, attribute.text());
  return field.take();
}

Tensor* output_of(const LayerCore& layer) { return layer.outputs.front().get(); }

Tensor& needed_input(const LayerCore& layer, size_t i, const std::string& why) {
  Tensor* input = layer.input(i);
  if (input == nullptr)
    refuse("layer '" + layer.name + "' lacks its input " + std::to_string(i) + ": " + why);
  return *input;
}

// An input that the scope's node takes: it is computed ahead of what is inside.
Tensor& outer_input(const ScopeTree& tree, const LayerCore& layer, size_t i,
                    const std::string& why) {
  Tensor& input = needed_input(layer, i, why);
  const Scope* scope = layer.boundary().scope;
  if (input.producer != nullptr && tree.home(*input.producer) == scope)
    refuse("layer '" + layer.name + "' reads '" + input.name + "' (" + why +
           "), which is computed inside of " + scope->shown() + ": compute it outside");
  return input;
}

void need_truth(const LayerCore& layer, const Tensor& condition) {
  if (condition.model_type().dtype != Dtype::boolean)
    refuse("layer '" + layer.name + "': its condition '" + condition.name + "' is of type " +
           name_of(condition.getType()) + ", and needs to be of type " + name_of(DataType::kBOOL));
}

const ILoopOutputLayer& as_output(const LayerCore& layer) {
  return dynamic_cast<const LoopLayer<ILoopOutputLayer>&>(layer);
}

// `last`: the values that recurrences have at the end.
void write_last_value(const LayerCore& layer, const std::map<const LayerCore*, std::string>& last,
                      ModelText& model) {
  const Tensor& value = needed_input(layer, 0, "what it gives");
  const auto found = last.find(value.producer);
  if (found == last.end())
    refuse("layer '" + layer.name + "': '" + value.name + "' is no recurrence of " +
           layer.boundary().scope->shown() + ", of which alone there is a last value");
  Around(model, layer.name).node_to(output_of(layer)->onnx_name(), "Identity", {found->second});
}

// The values of one name each round become one tensor.
struct Rounds {
  std::string stacked;  // by rounds first
  const Tensor* count = nullptr;
  bool may_end_early = false;
};

void write_rounds(const LayerCore& layer, const Tensor& length, const Rounds& rounds,
                  ModelText& model) {
  const size_t rank = static_cast<size_t>(output_of(layer)->model_type().shape.rank());
  Around around(model, layer.name);
  std::string value = rounds.stacked;
  const std::string wanted = around.node("Reshape", {around.scalar(length), around.integers({1})});
  const std::string sizes = around.node("Shape", {value});
  // Fewer rounds than that leave zeros.
  if (&length != rounds.count || rounds.may_end_early) {
    const std::string had = around.node("Gather", {sizes, around.integers({0})});
    const std::string pads = around.node(
        "Concat",
        {around.integers(std::vector<int64_t>(rank, 0)), around.node("Sub", {wanted, had}),
         around.integers(std::vector<int64_t>(rank - 1, 0))},
        {{"axis", int64_t{0}}});
    value = around.node("Pad", {value, pads});
  }
  // How many rounds there are is known from here on, ahead of a run.
  const octet::Shape& row = needed_input(layer, 0, "what it gives").model_type().shape;
  const std::string part =
      row.is_static()
          ? around.integers({row.begin(), row.end()})
          : around.node("Slice", {sizes, around.integers({1}),
                                  around.integers({std::numeric_limits<int64_t>::max()})});
  value = around.node("Reshape",
                      {value, around.node("Concat", {wanted, part}, {{"axis", int64_t{0}}})});
  if (as_output(layer).getLoopOutput() == LoopOutput::kREVERSE) value = around.reversed(value, 0);
  std::vector<int64_t> order;
  for (size_t i = 1; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  order.insert(order.begin() + as_output(layer).getAxis(), 0);
  around.node_to(output_of(layer)->onnx_name(), "Transpose", {value}, {{"perm", order}});
}

// What an iterator goes through, its first row first: places counted from the end would take rounds beyond the rows for rows again.
std::string rows_of(const ScopeTree& tree, const LayerCore& layer, ModelText& model) {
  const auto& iterator = dynamic_cast<const LoopLayer<IIteratorLayer>&>(layer);
  const std::string& from = outer_input(tree, layer, 0, "what it goes through").onnx_name();
  if (!iterator.getReverse()) return from;
  return Around(model, layer.name).reversed(from, iterator.getAxis());
}

void write_iterator(const LayerCore& layer, const std::string& rows, const std::string& round,
                    ModelText& body) {
  const int64_t axis = dynamic_cast<const LoopLayer<IIteratorLayer>&>(layer).getAxis();
  Around(body, layer.name)
      .node_to(output_of(layer)->onnx_name(), "Gather", {rows, round}, {{"axis", axis}});
}

// For a while these tensors have other names, and their layers too.
class Renamed {
 public:
  Renamed() = default;
  Renamed(const Renamed&) = delete;
  Renamed& operator=(const Renamed&) = delete;
  ~Renamed() {
    for (auto& entry : names_) *entry.first = std::move(entry.second);
  }
  void rename(std::string& name, std::string value) {
    names_.emplace_back(&name, std::exchange(name, std::move(value)));
  }

 private:
  std::vector<std::pair<std::string*, std::string>> names_;
};

}  // namespace

const LayerCore* LoopScope::limit(TripLimit kind) const {
  for (const LayerCore* layer : limits_)
    if (dynamic_cast<const LoopLayer<ITripLimitLayer>&>(*layer).limit == kind) return layer;
  return nullptr;
}

// The condition before a round: of the initial values, or of those that the round before leaves. Its layers are written once more, as a Loop
// wants to be told both.
std::string LoopScope::next_condition(const ScopeTree& tree, const Tensor& condition, bool at_first,
                                      ModelText& model) const {
  std::vector<LayerCore*> order;
  std::map<const LayerCore*, std::string> recurrences;
  std::set<const LayerCore*> seen;
  std::vector<std::pair<LayerCore*, size_t>> open;
  const auto visit = [&](LayerCore* layer) {
    if (layer == nullptr || !tree.has(*layer) || tree.home(*layer) != this) return;
    if (!seen.insert(layer).second) return;
    // Types are told while names are what they are.
    for (const auto& output : layer->outputs) static_cast<void>(output->model_type());
    const Boundary bound = layer->boundary();
    if (bound.scope != nullptr && layer->kind() != LayerType::kRECURRENCE)
      refuse("the condition of " + shown() + " rests on '" + layer->name +
             "'; it may rest on recurrences and on what is outside of the loop");
    if (bound.scope == nullptr) {
      open.emplace_back(layer, 0);
      return;
    }
    const Tensor& value = needed_input(*layer, at_first ? 0 : 1, "what it is in the next round");
    recurrences.emplace(layer, value.onnx_name());
  };
  visit(condition.producer);
  while (!open.empty()) {
    auto& [layer, next] = open.back();
    if (next < layer->inputs.size()) {
      const Tensor* input = layer->inputs[next++];
      if (input != nullptr) visit(input->producer);
    } else {
      order.push_back(layer);
      open.pop_back();
    }
  }
  Renamed renamed;
  for (auto& [layer, name] : recurrences) renamed.rename(output_of(*layer)->unique_name, name);
  for (LayerCore* layer : order) {
    renamed.rename(layer->name, model.fresh(layer->name));
    for (const auto& output : layer->outputs)
      renamed.rename(output->unique_name, model.fresh(output->unique_name));
  }
  std::string functions;
  for (LayerCore* layer : order) network_.write_layer(*layer, model, functions);
  if (!functions.empty())
    refuse("the condition of " + shown() + " is computed beside a model of another opset than " +
           std::to_string(kOpset) + "; make it a recurrence");
  return condition.onnx_name();
}

void LoopScope::write(const ScopeTree& tree, ModelText& model, std::string& functions) const {
  const LayerCore *counts = limit(TripLimit::kCOUNT), *holds = limit(TripLimit::kWHILE);
  if (counts == nullptr && holds == nullptr) refuse(shown() + " has no trip limit");
  const Tensor* count =
      counts == nullptr ? nullptr : &outer_input(tree, *counts, 0, "how many rounds there are");
  const Tensor* condition =
      holds == nullptr ? nullptr : &needed_input(*holds, 0, "whether there is another round");
  if (condition != nullptr) need_truth(*holds, *condition);
  Around around(model, name_);
  OnnxNode node{"Loop", "", name_, {}, {}, ""};
  node.inputs.push_back(count == nullptr ? "" : around.scalar(*count));
  node.inputs.push_back(condition == nullptr ? around.truth()
                                             : next_condition(tree, *condition, true, model));

  ModelText body = graph_in(model);
  const std::string round = body.fresh(name_ + ".round"), goes_on = body.fresh(name_ + ".goes_on");
  body.inputs.push_back(value_info(round, {Dtype::s64, octet::Shape{}}));
  body.inputs.push_back(value_info(goes_on, {Dtype::boolean, octet::Shape{}}));
  const std::vector<LayerCore*> recurrences = tree.bounds(*this, LayerType::kRECURRENCE);
  for (const LayerCore* layer : recurrences) {
    node.inputs.push_back(outer_input(tree, *layer, 0, "its initial value").onnx_name());
    body.inputs.push_back(
        value_info(output_of(*layer)->onnx_name(), output_of(*layer)->model_type()));
  }
  for (const LayerCore* layer : tree.bounds(*this, LayerType::kITERATOR))
    write_iterator(*layer, rows_of(tree, *layer, model), round, body);
  network_.write_graph(tree, this, body, functions);
  Around inside(body, name_);
  inside.give(condition == nullptr ? goes_on : next_condition(tree, *condition, false, body));
  std::map<const LayerCore*, std::string> last;
  for (const LayerCore* layer : recurrences) {
    inside.give(needed_input(*layer, 1, "what it is in the next round").onnx_name());
    node.outputs.push_back(last[layer] = body.fresh(name_));
  }
  std::vector<std::pair<const LayerCore*, std::string>> stacked;
  const std::vector<LayerCore*> outputs = tree.bounds(*this, LayerType::kLOOP_OUTPUT);
  for (const LayerCore* layer : outputs) {
    if (as_output(*layer).getLoopOutput() == LoopOutput::kLAST_VALUE) continue;
    inside.give(needed_input(*layer, 0, "what it gives").onnx_name());
    stacked.emplace_back(layer, body.fresh(layer->name));
    node.outputs.push_back(stacked.back().second);
  }
  node.rest = attribute_of("body", body, model);
  model.nodes.push_back(std::move(node));
  for (const auto& entry : stacked)
    write_rounds(*entry.first, outer_input(tree, *entry.first, 1, "how many rounds its output has"),
                 {entry.second, count, condition != nullptr}, model);
  for (const LayerCore* layer : outputs)
    if (as_output(*layer).getLoopOutput() == LoopOutput::kLAST_VALUE)
      write_last_value(*layer, last, model);
}

// What both sides read is in each of them, which doubles for each condition within another.
constexpr size_t kMostBytesOfSide = size_t{2} << 20;

// The layers that the branch needs, as a graph; `input` is its place among the inputs of an output.
std::string ConditionScope::branch(const ScopeTree& tree, size_t input, ModelText& model,
                                   std::string& functions) const {
  std::vector<Tensor*> given;
  for (const LayerCore* layer : tree.bounds(*this, LayerType::kCONDITIONAL_OUTPUT))
    given.push_back(&needed_input(*layer, input, "what it gives"));
  const std::set<const LayerCore*> needed = network_.needed_by(given);
  std::vector<LayerCore*> layers;
  for (LayerCore* layer : tree.layers())
    if (needed.contains(layer)) layers.push_back(layer);
  const ScopeTree branch(std::move(layers));
  ModelText graph = graph_in(model);
  for (const LayerCore* layer : branch.bounds(*this, LayerType::kCONDITIONAL_INPUT))
    Around(graph, layer->name)
        .node_to(output_of(*layer)->onnx_name(), "Identity",
                 {outer_input(tree, *layer, 0, "what it takes").onnx_name()});
  network_.write_graph(branch, this, graph, functions);
  for (const Tensor* tensor : given) Around(graph, name_).give(tensor->onnx_name());
  std::string text = attribute_of(input == 0 ? "then_branch" : "else_branch", graph, model);
  if (text.size() > kMostBytesOfSide)
    refuse("a side of " + shown() + " takes more than " + std::to_string(kMostBytesOfSide) +
           " bytes without its weights: conditions that both sides read are written for each; "
           "compute them outside of it");
  return text;
}

void ConditionScope::write(const ScopeTree& tree, ModelText& model, std::string& functions) const {
  if (conditions_.empty()) refuse(shown() + " has no condition: setCondition() gives it one");
  const Tensor& condition = outer_input(tree, *conditions_.front(), 0, "which side is taken");
  need_truth(*conditions_.front(), condition);
  OnnxNode node{"If", "", name_, {Around(model, name_).scalar(condition)}, {}, ""};
  for (const LayerCore* layer : tree.bounds(*this, LayerType::kCONDITIONAL_OUTPUT))
    node.outputs.push_back(output_of(*layer)->onnx_name());
  node.rest = branch(tree, 0, model, functions);
  node.rest += branch(tree, 1, model, functions);
  model.nodes.push_back(std::move(node));
}

}  // namespace octet_trt
