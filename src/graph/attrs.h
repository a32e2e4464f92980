// SPDX-License-Identifier: Apache-2.0
// Attributes of a node: a small ordered map from name to value, printed and parsed by the text form.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

class Graph;  // graph/graph.h

// The body of a control-flow node; shared, because nodes are copied and bodies never change.
using GraphPtr = std::shared_ptr<const Graph>;

using AttrValue = std::variant<s64, f32, std::string, std::vector<s64>, std::vector<f32>,
                               std::vector<std::string>, Tensor, GraphPtr>;

class Attrs {
 public:
  using Entry = std::pair<std::string, AttrValue>;

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const AttrValue* find(std::string_view name) const;
  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  bool empty() const { return entries_.empty(); }
  std::span<const Entry> entries() const { return entries_; }  // sorted by name

  // Typed reads. With a default, a missing attribute yields it; without, and always for an attribute of another kind,
  // they throw Error(invalid_model) naming the attribute, the kind expected and the kind found.
  s64 i(std::string_view name) const;
  s64 i(std::string_view name, s64 otherwise) const;
  f32 f(std::string_view name, f32 otherwise) const;
  std::string s(std::string_view name, std::string_view otherwise) const;
  std::vector<s64> ints(std::string_view name) const;
  std::vector<s64> ints(std::string_view name, std::vector<s64> otherwise) const;
  std::vector<f32> floats(std::string_view name, std::vector<f32> otherwise) const;
  std::optional<Tensor> tensor(std::string_view name) const;
  GraphPtr graph(std::string_view name) const;  // required, never null

 private:
  std::vector<Entry> entries_;
};

}  // namespace octet
