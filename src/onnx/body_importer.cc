// SPDX-License-Identifier: Apache-2.0
// Bodies of control flow. What a body reads from around it becomes an input of the body and of its node ("capture"), and
// so do its own constants: weights stay in the main graph, and a body is a graph like every other.
#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/check.h"
#include "graph/op_traits.h"
#include "onnx/graph_importer.h"
#include "onnx/text.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

const TensorType kUnknown{Dtype::f32, Shape::unknown()};

void read_names(const std::vector<FlatNode>& nodes, std::set<std::string>& own,
                std::set<std::string>& read) {
  for (const FlatNode& node : nodes) {
    own.insert(node.proto->output().begin(), node.proto->output().end());
    read.insert(node.proto->input().begin(), node.proto->input().end());
    for (const FlatBody& body : node.bodies) {
      for (std::string& name : free_names(body)) read.insert(std::move(name));
    }
  }
}

void check_body_name(const Node& node, const std::string& name) {
  const auto names = node.op->traits->bodies;
  if (std::ranges::find(names, name) != names.end()) return;
  fail(kInvalid, "attribute {} holds a graph, which {} does not take", quote_name(name),
       node.op->name);
}

}  // namespace

std::vector<std::string> free_names(const FlatBody& body) {
  std::set<std::string> own{""}, read;
  for (const auto& input : body.proto->input()) own.insert(input.name());
  for (const auto& tensor : body.proto->initializer()) own.insert(tensor.name());
  for (const auto& tensor : body.proto->sparse_initializer()) own.insert(tensor.values().name());
  for (const auto& output : body.proto->output()) read.insert(output.name());
  read_names(body.nodes, own, read);
  std::vector<std::string> names;
  std::ranges::set_difference(read, own, std::back_inserter(names));
  return names;
}

const GraphImporter::Symbol& GraphImporter::capture(const std::string& name, ValueId outer) {
  // A constant is one here, too, until the body is complete: operators may want to see it.
  const Value& value = parent_->graph_.value(outer);
  const ValueId inner = value.constant ? graph_.add_constant(value.name, value.constant)
                                       : graph_.add_value(value.name, kUnknown);
  captures_.push_back({outer, inner});
  return symbols_.emplace(name, Symbol{inner, kNoNode}).first->second;
}

void GraphImporter::declare_body_inputs() {
  for (const auto& input : proto_.input()) {
    if (input.name().empty()) fail(kInvalid, "an input of the body has no name");
    const ValueId id = graph_.add_value(checked_name(input.name()), kUnknown);
    declare(input.name(), {id, kNoNode}, "an input of the body");
    graph_.inputs.push_back(id);
  }
}

void GraphImporter::lift_constants() {
  std::vector<bool> captured(graph_.value_count(), false);
  for (const Capture& capture : captures_) captured[capture.inner] = true;
  for (ValueId id = 0; id < graph_.value_count(); ++id) {
    Value& value = graph_.value(id);
    if (!value.constant) continue;
    if (!captured[id]) {
      captures_.push_back({parent_->graph_.add_constant(value.name, value.constant), id});
    }
    value.constant = {};
    value.type = kUnknown;
  }
}

void GraphImporter::drop_unread_captures() {
  std::vector<bool> read(graph_.value_count(), false);
  for (const Node& node : graph_.nodes) {
    for (ValueId id : node.inputs) {
      if (id != kNoValue) read[id] = true;
    }
  }
  for (ValueId id : graph_.outputs) read[id] = true;
  std::erase_if(captures_, [&](const Capture& capture) { return !read[capture.inner]; });
}

GraphImporter::Body GraphImporter::import_body(FlatBody& flat) try {
  GraphImporter importer(context_, *flat.proto, flat.nodes, this);
  Body body{flat.attribute, importer.run_body(), {}, {}};
  body.captures = std::move(importer.captures_);
  body.declared = std::move(importer.declared_);
  return body;
} catch (Error& error) {
  error.add_context("importing " + quote_name(flat.attribute));
  throw;
}

GraphPtr GraphImporter::finished(Body body) {
  // Values get other numbers and keep their names.
  std::vector<std::string> names;
  for (const DeclaredType& type : body.declared) names.push_back(body.graph.value(type.id).name);
  body.graph.compact();
  std::unordered_map<std::string_view, ValueId> ids;
  for (ValueId id = 0; id < body.graph.value_count(); ++id)
    ids.emplace(body.graph.value(id).name, id);
  for (size_t i = 0; i < names.size(); ++i) {
    const auto at = ids.find(names[i]);
    body.declared[i].id = at != ids.end() ? at->second : kNoValue;
  }
  const auto graph = std::make_shared<const Graph>(std::move(body.graph));
  for (DeclaredType& type : body.declared) {
    if (type.id == kNoValue) continue;  // nobody reads it
    type.body = graph;
    context_.info.declared.push_back(std::move(type));
  }
  return graph;
}

Attrs GraphImporter::add_bodies(FlatNode& flat, Node& node) {
  Attrs attrs;
  if (flat.bodies.empty()) return attrs;
  std::vector<Body> bodies;
  std::vector<ValueId> captures;  // of all bodies, each once
  std::unordered_set<ValueId> known;
  for (FlatBody& body : flat.bodies) {
    check_body_name(node, body.attribute);
    bodies.push_back(import_body(body));
    for (const Capture& capture : bodies.back().captures) {
      if (known.insert(capture.outer).second) captures.push_back(capture.outer);
    }
  }
  for (Body& body : bodies) {
    std::unordered_map<ValueId, ValueId> inner;
    for (const Capture& capture : body.captures) inner.emplace(capture.outer, capture.inner);
    for (ValueId outer : captures) {
      const auto own = inner.find(outer);
      body.graph.inputs.push_back(own != inner.end() ? own->second
                                                     : body.graph.add_value("unused", kUnknown));
    }
    const std::string name = body.name;
    attrs.set(name, finished(std::move(body)));
  }
  // Omitted inputs at the end keep their places before the captures.
  node.inputs.resize(std::max(node.inputs.size(), static_cast<size_t>(node.op->inputs.min)),
                     kNoValue);
  node.inputs.insert(node.inputs.end(), captures.begin(), captures.end());
  attrs.set("captures", static_cast<s64>(captures.size()));
  return attrs;
}

}  // namespace octet
