// SPDX-License-Identifier: Apache-2.0
// Which cases are tried: the plugin's examples, what can be made of them, and shapes without examples.
#include <algorithm>
#include <set>

#include "core/check.h"
#include "graph/text.h"
#include "plugin/check_case.h"
#include "plugin/isolated.h"

namespace octet {
namespace {

constexpr ValueId kSomeResult = 1 << 20;

Node node_of(const PluginOp& op, const Attrs& attrs, size_t inputs) {
  Node node;
  node.op = &op.real;
  node.name = "checked";
  for (size_t i = 0; i < inputs; ++i) node.inputs.push_back(static_cast<ValueId>(i));
  node.outputs.assign(op.declaration.outputs.size(), kSomeResult);
  node.attrs = attrs;
  return node;
}

// The fewest that a variadic list may have, in all.
size_t fewest(const std::vector<PluginPort>& ports) {
  return ports.back().variadic ? ports.size() - 1 + ports.back().min_count : ports.size();
}

// Why the shape rule refuses it; empty where it accepts.
std::string refusal_of(const PluginOp& op, const CheckCase& from) {
  const PluginCombination* reals = op.declaration.reals();
  const PluginCombination& c = reals != nullptr ? *reals : op.declaration.combinations[0];
  try {
    make_trial(op, c, from, 1);
    return {};
  } catch (const Error& error) {
    if (error.code() == Error::Code::invalid_model) return error.message();
    throw;
  }
}

bool accepts(const PluginOp& op, const CheckCase& from) { return refusal_of(op, from).empty(); }

bool is_small(std::span<const Shape> shapes) {
  return std::ranges::all_of(shapes,
                             [](const Shape& s) { return s.elements() <= kMostCheckedElements; });
}

std::string attributes_text(const Node& node) {
  std::string text;
  for (const auto& [name, value] : node.attrs.entries())
    text += name + '=' + print_attribute(value) + ';';
  return text;
}

void add_where_accepted(const PluginOp& op, CheckCase made, std::vector<CheckCase>& cases) {
  made.text = case_text(made);
  note_stage("the shape rule, inputs " + made.text);
  const std::string attributes = attributes_text(made.node);
  const auto same = [&](const CheckCase& c) {
    return c.text == made.text && attributes_text(c.node) == attributes;
  };
  if (std::ranges::none_of(cases, same) && is_small(made.inputs) && accepts(op, made))
    cases.push_back(std::move(made));
}

std::set<s64> sizes_of(const CheckCase& of) {
  std::set<s64> sizes;
  for (const Shape& shape : of.inputs) sizes.insert(shape.begin(), shape.end());
  return sizes;
}

// Another size in place of one, wherever that stands.
CheckCase resized(CheckCase from, s64 size, s64 other) {
  for (Shape& shape : from.inputs) {
    for (int d = 0; d < shape.rank(); ++d) shape[d] = shape[d] == size ? other : shape[d];
  }
  return from;
}

// Batches of 1 and 3; each size of the example, wherever it stands, by one more, so that multiples of something are none any more.
void add_sizes(const PluginOp& op, const CheckCase& from, std::vector<CheckCase>& cases) {
  for (const s64 batch : {s64{1}, s64{3}}) {
    CheckCase other = from;
    for (Shape& shape : other.inputs) {
      if (shape.rank() > 1) shape[0] = batch;
    }
    add_where_accepted(op, std::move(other), cases);
  }
  for (const s64 size : sizes_of(from))
    add_where_accepted(op, resized(from, size, size + 1), cases);
}

// No elements: each size of the example, wherever it stands, is 0; and each dimension of each input.
void add_empty(const PluginOp& op, const CheckCase& from, std::vector<CheckCase>& cases) {
  for (const s64 size : sizes_of(from)) add_where_accepted(op, resized(from, size, 0), cases);
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    for (int d = 0; d < from.inputs[i].rank(); ++d) {
      CheckCase other = from;
      other.inputs[i][d] = 0;
      add_where_accepted(op, std::move(other), cases);
    }
  }
}

// Without each input and each result that a model may leave out, and without all of these.
void add_without(const PluginOp& op, const CheckCase& from, std::vector<CheckCase>& cases) {
  CheckCase least = from;
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    if (!op.declaration.input(i).optional) continue;
    CheckCase without = from;
    without.omit(i);
    add_where_accepted(op, std::move(without), cases);
    least.omit(i);
  }
  add_where_accepted(op, least, cases);
  CheckCase unread = from;
  for (size_t i = 0; i < from.node.outputs.size(); ++i) {
    if (!op.declaration.output(i).optional) continue;
    CheckCase without = from;
    without.node.outputs[i] = unread.node.outputs[i] = least.node.outputs[i] = kNoValue;
    add_where_accepted(op, std::move(without), cases);
  }
  add_where_accepted(op, std::move(unread), cases);
  add_where_accepted(op, std::move(least), cases);
}

// As few tensors of a variadic port as there may be, and one more than the example has.
void add_counts(const PluginOp& op, const CheckCase& from, std::vector<CheckCase>& cases) {
  const Declaration& d = op.declaration;
  const auto with = [&](size_t inputs, size_t outputs) {
    CheckCase other = from;
    const ValueId next = static_cast<ValueId>(from.inputs.size());
    const Shape last = from.inputs.empty() ? Shape() : from.inputs.back();
    other.inputs.resize(inputs, last);
    other.node.inputs.resize(inputs, next);
    other.node.outputs.resize(outputs, kSomeResult);
    add_where_accepted(op, std::move(other), cases);
  };
  const size_t inputs = from.inputs.size(), outputs = from.node.outputs.size();
  if (d.inputs.back().variadic) {
    with(fewest(d.inputs), outputs);
    if (inputs > d.fixed_inputs()) with(inputs + 1, outputs);
  }
  if (d.outputs.back().variadic) {
    with(inputs, fewest(d.outputs));
    with(inputs, outputs + 1);
  }
}

void add_variants(const PluginOp& op, const CheckCase& from, std::vector<CheckCase>& cases) {
  add_sizes(op, from, cases);
  add_without(op, from, cases);
  add_counts(op, from, cases);
  add_empty(op, from, cases);
}

// An example does not say how many results a variadic port has: the first number that the shape rule accepts. Why not, where it is none.
std::string count_results(const PluginOp& op, CheckCase& of) {
  constexpr size_t kMostTried = 16;
  const std::vector<PluginPort>& ports = op.declaration.outputs;
  if (!ports.back().variadic) return refusal_of(op, of);
  std::string first;  // what is said of the fewest
  for (size_t more = 0; more < kMostTried; ++more) {
    of.node.outputs.resize(fewest(ports) + more, kSomeResult);
    const std::string why = refusal_of(op, of);
    if (why.empty()) return why;
    if (more == 0) first = why;
  }
  return first;
}

void add_generated(const PluginOp& op, std::mt19937_64& random, std::vector<CheckCase>& cases) {
  constexpr int kTries = 200;
  constexpr size_t kEnough = 8;
  const Declaration& d = op.declaration;
  std::uniform_int_distribution<s64> size(1, 9);
  for (int i = 0; i < kTries && cases.size() < kEnough; ++i) {
    std::vector<Shape> shapes;
    Shape first;
    for (size_t p = 0; p < std::max(d.inputs.size(), fewest(d.inputs)); ++p) {
      const PluginPort& port = d.input(p);
      std::uniform_int_distribution<int> rank(port.min_rank,
                                              std::max(port.min_rank, std::min(port.max_rank, 4)));
      Shape shape;
      for (int r = rank(random); r > 0; --r) shape.push_back(size(random));
      // Half of the tries have equal shapes.
      if (shapes.empty()) first = shape;
      if (i % 2 == 0 && first.rank() >= port.min_rank && first.rank() <= port.max_rank)
        shape = first;
      shapes.push_back(shape);
    }
    CheckCase made{node_of(op, checked_attributes(d, {}), shapes.size()), shapes, ""};
    if (count_results(op, made).empty()) add_where_accepted(op, std::move(made), cases);
  }
}

bool has_defaults(const Declaration& d) {
  return std::ranges::all_of(d.attributes,
                             [](const PluginAttribute& a) { return a.otherwise.has_value(); });
}

}  // namespace

std::string case_text(const CheckCase& of) {
  std::string text;
  for (size_t i = 0; i < of.inputs.size(); ++i)
    text += (i == 0 ? "" : ", ") + (of.omits(i) ? "none" : to_string(of.inputs[i]));
  const Declaration& d = plugin_of(of.node)->declaration;
  const size_t results = of.node.outputs.size();
  if (d.outputs.back().variadic) text += fmt::format("; {} results", results);
  for (size_t i = 0; i < results; ++i) {
    if (of.omits_result(i)) text += fmt::format("; without {}", d.output(i).name);
  }
  return text;
}

std::vector<CheckCase> cases_of(const PluginOp& op, u64 seed) {
  std::mt19937_64 random(seed);
  std::vector<CheckCase> cases;
  for (const PluginCase& example : op.declaration.cases) {
    CheckCase made{node_of(op, example.attributes, example.inputs.size()), example.inputs, ""};
    note_stage("the shape rule, inputs " + case_text(made));
    const std::string why = count_results(op, made);
    made.text = case_text(made);
    if (!why.empty())
      fail(Error::Code::invalid_argument, "the shape rule refuses the plugin's own example {}: {}",
           made.text, why);
    cases.push_back(made);
    add_variants(op, made, cases);
  }
  if (cases.empty() && has_defaults(op.declaration)) add_generated(op, random, cases);
  if (op.declaration.cases.empty() && !cases.empty())
    add_variants(op, CheckCase(cases.front()), cases);
  if (cases.empty())
    fail(Error::Code::invalid_argument,
         "no shapes were found that the shape rule accepts; give an example (octet_plugin_case)");
  return cases;
}

}  // namespace octet
