// SPDX-License-Identifier: Apache-2.0
#include "substitute.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/visit.h"
#include "onnx/external_data.h"
#include "onnx/model_reader.h"
#include "onnx/tensor_reader.h"

namespace octet {
namespace {

constexpr int kInts = 7;  // AttributeProto.AttributeType.INTS
constexpr const char* kAdded = "substituted_addend";

// An input of the model becomes an initializer.
void make_constant(NodeTest& test, size_t i, const std::function<void(pb::TensorProto&)>& change) {
  pb::GraphProto& graph = *test.model.mutable_graph();
  pb::TensorProto tensor = test.inputs[i];
  change(tensor);
  tensor.set_name(graph.input(static_cast<int>(i)).name());
  *graph.add_initializer() = std::move(tensor);
  graph.mutable_input()->DeleteSubrange(static_cast<int>(i), 1);
  const auto at = static_cast<std::ptrdiff_t>(i);
  test.inputs.erase(test.inputs.begin() + at);
  test.tensors.erase(test.tensors.begin() + at);
}

void as_it_is(pb::TensorProto&) {}

// Along one axis; a scalar becomes a vector.
std::function<void(pb::TensorProto&)> emptied(int axis) {
  return [axis](pb::TensorProto& tensor) {
    pb::TensorProto empty;
    empty.set_name(tensor.name());
    empty.set_data_type(tensor.data_type());
    empty.set_raw_data("");
    for (int d = 0; d < std::max(1, tensor.dims_size()); ++d)
      empty.add_dims(d == axis ? 0 : tensor.dims(d));
    tensor = std::move(empty);
  };
}

void read_instead(pb::GraphProto& graph, const std::string& from, const std::string& to) {
  for (pb::NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (input == from) input = to;
    }
  }
}

// Whoever reads input `gone` reads `instead`, which may be nothing.
void read_other(NodeTest& test, size_t gone, const std::string& instead) {
  pb::GraphProto& graph = *test.model.mutable_graph();
  read_instead(graph, graph.input(static_cast<int>(gone)).name(), instead);
  graph.mutable_input()->DeleteSubrange(static_cast<int>(gone), 1);
  const auto at = static_cast<std::ptrdiff_t>(gone);
  test.inputs.erase(test.inputs.begin() + at);
  test.tensors.erase(test.tensors.begin() + at);
}

// What the file declares of results holds for the inputs that it had.
void forget_shapes(pb::GraphProto& graph) {
  for (pb::ValueInfoProto& output : *graph.mutable_output())
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  graph.clear_value_info();
}

using Named = std::pair<std::string, NodeTest>;

// One input is something else.
void replace_one(const NodeTest& test, size_t i, std::vector<Named>& made) {
  const auto add = [&](const std::string& name, const std::function<void(pb::TensorProto&)>& to) {
    made.emplace_back(fmt::format("{} {}", name, i), test);
    make_constant(made.back().second, i, to);
  };
  const auto add_empty = [&](const std::string& name, int axis) {
    add(name, emptied(axis));
    forget_shapes(*made.back().second.model.mutable_graph());
  };
  add("constant", as_it_is);
  const int rank = test.inputs[i].dims_size();
  add_empty("empty", 0);
  if (rank > 1) add_empty("empty at the end of", rank - 1);
  made.emplace_back(fmt::format("omitted {}", i), test);
  read_other(made.back().second, i, "");
  forget_shapes(*made.back().second.model.mutable_graph());
}

// A constant of the file, which a run brings instead.
struct Known {
  pb::TensorProto tensor;  // under the name that the graph reads
  bool is_node = false;    // a Constant; else an initializer
  int at = 0;
};

std::vector<Known> known_of(const pb::GraphProto& graph) {
  constexpr size_t kMost = 8;  // functions that are written out hold many
  std::vector<Known> found;
  for (int i = 0; i < graph.initializer_size(); ++i) {
    const std::string& name = graph.initializer(i).name();
    const bool listed = std::ranges::any_of(
        graph.input(), [&](const pb::ValueInfoProto& input) { return input.name() == name; });
    if (!listed) found.push_back({graph.initializer(i), false, i});
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    const pb::NodeProto& node = graph.node(i);
    if (node.op_type() != "Constant" || node.attribute_size() != 1 || !node.attribute(0).has_t())
      continue;
    found.push_back({node.attribute(0).t(), true, i});
    found.back().tensor.set_name(node.output(0));
  }
  found.resize(std::min(found.size(), kMost));
  return found;
}

void make_input(NodeTest& test, const Known& known) {
  pb::GraphProto& graph = *test.model.mutable_graph();
  if (known.is_node) {
    graph.mutable_node()->DeleteSubrange(known.at, 1);
  } else {
    graph.mutable_initializer()->DeleteSubrange(known.at, 1);
  }
  pb::ValueInfoProto& input = *graph.add_input();
  input.set_name(known.tensor.name());
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(known.tensor.data_type());
  type.mutable_shape();
  for (const int64_t size : known.tensor.dims())
    type.mutable_shape()->add_dim()->set_dim_value(size);
  test.inputs.push_back(known.tensor);
  ExternalData none({}, {});
  std::vector<std::string> warnings;
  pb::TensorProto payload = known.tensor;
  test.tensors.push_back(TensorReader(none, default_max_bytes(), warnings).read(payload));
  graph.clear_value_info();  // of shapes that the constant gave
}

void replace_known(const NodeTest& test, std::vector<Named>& made) {
  const std::vector<Known> known = known_of(test.model.graph());
  for (size_t i = 0; i < known.size(); ++i) {
    made.emplace_back(fmt::format("known {} as input", i), test);
    make_input(made.back().second, known[i]);
  }
}

void replace_all_but(const NodeTest& test, size_t kept, std::vector<Named>& made) {
  made.emplace_back(fmt::format("constant but {}", kept), test);
  for (size_t i = test.inputs.size(); i-- > 0;) {
    if (i != kept) make_constant(made.back().second, i, as_it_is);
  }
}

std::vector<Named> replaced(const NodeTest& test) {
  std::vector<Named> made = {{"as it is", test}};
  const size_t count = test.inputs.size();
  for (size_t i = 0; i < count; ++i) replace_one(test, i, made);
  for (size_t i = 0; count > 2 && i < count; ++i) replace_all_but(test, i, made);
  replace_known(test, made);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = i + 1; k < count; ++k) {
      if (!(test.tensors[i].type() == test.tensors[k].type())) continue;
      made.emplace_back(fmt::format("{} as {}", i, k), test);
      read_other(made.back().second, k, test.model.graph().input(static_cast<int>(i)).name());
      made.emplace_back(fmt::format("constant {} as {}", i, k), made.back().second);
      make_constant(made.back().second, i, as_it_is);
    }
  }
  return made;
}

pb::NodeProto& add_node(pb::GraphProto& graph, const char* op, std::vector<std::string> inputs,
                        const std::string& output) {
  pb::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (std::string& input : inputs) *node.add_input() = std::move(input);
  *node.add_output() = output;
  return node;
}

// The first output is made by another node, of what made it.
std::string rename_output(pb::GraphProto& graph) {
  const std::string name = graph.output(0).name(), inner = name + "_inner";
  read_instead(graph, name, inner);
  for (pb::NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output == name) output = inner;
    }
  }
  return inner;
}

bool is_number(const Tensor& tensor) {
  return tensor.dtype() == Dtype::f32 || tensor.dtype() == Dtype::s32 ||
         tensor.dtype() == Dtype::s64;
}

Tensor addend(const TensorType& type) {
  Tensor tensor(type.dtype, type.shape);
  visit_dtype(type.dtype, [&]<class T>() {
    s64 at = 0;
    for (T& x : tensor.mutable_as<T>()) x = static_cast<T>(static_cast<f32>(at++ % 7 - 3));
  });
  return tensor;
}

// y + a value that a run brings.
void add_sum(NodeTest& test) {
  pb::GraphProto& graph = *test.model.mutable_graph();
  const std::string inner = rename_output(graph), name = graph.output(0).name();
  pb::ValueInfoProto& input = *graph.add_input();
  input = graph.output(0);
  input.set_name(kAdded);
  add_node(graph, "Add", {inner, kAdded}, name);
  test.tensors.push_back(addend(test.outputs[0].type()));
}

void add_double(NodeTest& test) {
  pb::GraphProto& graph = *test.model.mutable_graph();
  const std::string inner = rename_output(graph), name = graph.output(0).name();
  add_node(graph, "Add", {inner, inner}, name);
}

void add_relu(NodeTest& test) {
  pb::GraphProto& graph = *test.model.mutable_graph();
  const std::string inner = rename_output(graph), name = graph.output(0).name();
  add_node(graph, "Relu", {inner}, name);
}

// Inputs are made by a node: of images in a layout that kernels of images like.
void add_heads(NodeTest& test) {
  pb::GraphProto& graph = *test.model.mutable_graph();
  const int count = graph.node_size();
  for (size_t i = 0; i < test.tensors.size(); ++i) {
    if (test.tensors[i].dtype() != Dtype::f32) continue;
    const std::string name = graph.input(static_cast<int>(i)).name(), moved = name + "_moved";
    read_instead(graph, name, moved);
    const bool image = test.tensors[i].shape().rank() == 4;
    pb::NodeProto& node = add_node(graph, image ? "MaxPool" : "Abs", {name}, moved);
    if (!image) continue;
    pb::AttributeProto& kernel = *node.add_attribute();
    kernel.set_name("kernel_shape");
    kernel.set_type(kInts);
    kernel.add_ints(1);
    kernel.add_ints(1);
  }
  // Nodes stand behind what they read.
  std::vector<pb::NodeProto> nodes(graph.node().begin(), graph.node().end());
  std::rotate(nodes.begin(), nodes.begin() + count, nodes.end());
  graph.clear_node();
  for (pb::NodeProto& node : nodes) *graph.add_node() = std::move(node);
}

}  // namespace

std::vector<Substituted> substitutions(const NodeTest& test) {
  std::vector<Substituted> made;
  for (auto& [name, changed] : replaced(test)) {
    const auto add = [&](const char* what, const std::function<void(NodeTest&)>& change) {
      NodeTest own = changed;
      change(own);
      made.push_back({name + what, std::move(own.model), std::move(own.tensors)});
    };
    add("", [](NodeTest&) {});
    if (test.outputs.empty() || !is_number(test.outputs[0])) continue;
    add(", doubled", add_double);
    add(", moved", add_heads);
    if (name.find("empty") != name.npos) continue;
    add(", sum", add_sum);
    if (test.outputs[0].dtype() != Dtype::f32) continue;
    add(", moved sum", [](NodeTest& own) {
      add_heads(own);
      add_sum(own);
    });
    add(", relu of sum", [](NodeTest& own) {
      add_sum(own);
      add_relu(own);
    });
  }
  return made;
}

}  // namespace octet
