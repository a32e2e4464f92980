// SPDX-License-Identifier: Apache-2.0
#include "onnx/attribute_reader.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include "core/check.h"
#include "onnx/text.h"

namespace octet {
namespace {

using octet_onnx::AttributeProto;

constexpr const char* kKindNames[] = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
    "strings",   "tensors", "graphs", "sparse tensor", "sparse tensors", "type",  "types"};

const char* kind_name(s32 kind) {
  return kind >= 0 && static_cast<size_t>(kind) < std::size(kKindNames) ? kKindNames[kind]
                                                                        : "unknown";
}

struct Stored {
  AttrKind kind;
  bool present;
};

AttrValue read_value(AttributeProto& proto, AttrKind kind, TensorReader& tensors) {
  switch (kind) {
    case AttrKind::f:
      return proto.f();
    case AttrKind::i:
      return s64{proto.i()};
    case AttrKind::s:
      return proto.s();
    case AttrKind::t:
      return tensors.read(*proto.mutable_t());
    case AttrKind::floats:
      return std::vector<f32>(proto.floats().begin(), proto.floats().end());
    case AttrKind::ints:
      return std::vector<s64>(proto.ints().begin(), proto.ints().end());
    case AttrKind::strings:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case AttrKind::sparse_tensor:
      return tensors.read_sparse(*proto.mutable_sparse_tensor());
    default:
      fail(Error::Code::unsupported, "attribute {} is of kind {}, which no supported operator has",
           quote_name(proto.name()), kind_name(static_cast<s32>(kind)));
  }
}

}  // namespace

AttrKind attribute_kind(const AttributeProto& proto) {
  const Stored stored[] = {
      // in the order of AttrKind
      {AttrKind::f, proto.has_f()},
      {AttrKind::i, proto.has_i()},
      {AttrKind::s, proto.has_s()},
      {AttrKind::t, proto.has_t()},
      {AttrKind::g, proto.has_g()},
      {AttrKind::floats, proto.floats_size() > 0},
      {AttrKind::ints, proto.ints_size() > 0},
      {AttrKind::strings, proto.strings_size() > 0},
      {AttrKind::tensors, proto.tensors_size() > 0},
      {AttrKind::graphs, proto.graphs_size() > 0},
      {AttrKind::sparse_tensor, proto.has_sparse_tensor()},
      {AttrKind::sparse_tensors, proto.sparse_tensors_size() > 0},
      {AttrKind::tp, proto.has_tp()},
      {AttrKind::type_protos, proto.type_protos_size() > 0},
  };
  AttrKind kind = static_cast<AttrKind>(proto.type());
  for (const Stored& s : stored) {
    if (!s.present) continue;
    if (kind == AttrKind::undefined) kind = s.kind;  // models older than IR version 3 declare none
    if (kind != s.kind) {
      fail(Error::Code::invalid_model, "attribute {} declares kind {} but stores {}",
           quote_name(proto.name()), kind_name(static_cast<s32>(kind)),
           kind_name(static_cast<s32>(s.kind)));
    }
  }
  if (kind == AttrKind::undefined || static_cast<size_t>(kind) >= std::size(kKindNames)) {
    fail(Error::Code::invalid_model, "attribute {} has no value (kind {})",
         quote_name(proto.name()), proto.type());
  }
  // Empty lists and proto3 writers' omitted zeros are values; a missing message is not.
  const bool message = kind == AttrKind::t || kind == AttrKind::g || kind == AttrKind::tp ||
                       kind == AttrKind::sparse_tensor;
  if (message && !stored[static_cast<size_t>(kind) - 1].present) {
    fail(Error::Code::invalid_model, "attribute {} declares kind {} but stores nothing",
         quote_name(proto.name()), kind_name(static_cast<s32>(kind)));
  }
  return kind;
}

Attrs read_attributes(octet_onnx::NodeProto& node, TensorReader& tensors) {
  std::vector<Attrs::Entry> entries;
  std::unordered_set<std::string_view> seen;
  for (AttributeProto& proto : *node.mutable_attribute()) {
    if (!seen.insert(proto.name()).second) {
      fail(Error::Code::invalid_model, "attribute {} is given twice", quote_name(proto.name()));
    }
    if (!proto.ref_attr_name().empty()) {
      fail(Error::Code::invalid_model, "attribute {} refers to {}, but stands outside a function",
           quote_name(proto.name()), quote_name(proto.ref_attr_name()));
    }
    const AttrKind kind = attribute_kind(proto);
    if (kind == AttrKind::g) continue;  // a body: graph_importer.h
    entries.emplace_back(proto.name(), read_value(proto, kind, tensors));
  }
  // Each goes to the end then.
  std::ranges::sort(entries, {}, &Attrs::Entry::first);
  Attrs attrs;
  for (auto& [name, value] : entries) attrs.set(name, std::move(value));
  return attrs;
}

Tensor constant_tensor(const Attrs& attrs) {
  const auto& [name, value] = attrs.entries()[0];
  if (name == "value" || name == "sparse_value") return attrs.tensor(name).value();
  if (name == "value_float") return Tensor::scalar<f32>(attrs.f(name, 0));
  if (name == "value_int") return Tensor::scalar<s64>(attrs.i(name));
  if (name == "value_floats") {
    const auto floats = attrs.floats(name, {});
    return Tensor::of<f32>(Shape{static_cast<s64>(floats.size())}, floats);
  }
  if (name == "value_ints") {
    const auto ints = attrs.ints(name);
    return Tensor::of<s64>(Shape{static_cast<s64>(ints.size())}, ints);
  }
  fail(Error::Code::unsupported, "Constant has the attribute {}, which Octet does not read",
       quote_name(name));
}

}  // namespace octet
