// SPDX-License-Identifier: Apache-2.0
#include "graph/attrs.h"

#include <algorithm>

#include "core/check.h"

namespace octet {
namespace {

constexpr const char* kKinds[] = {"int",    "float",   "string", "ints",
                                  "floats", "strings", "tensor", "graph"};

template <class T>
const T* typed(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  if (value == nullptr) return nullptr;
  if (const T* found = std::get_if<T>(value)) return found;
  fail(Error::Code::invalid_model, "attribute '{}' is of kind {}, expected {}", name,
       kKinds[value->index()], kKinds[AttrValue(T{}).index()]);
}

template <class T>
const T& required(const Attrs& attrs, std::string_view name) {
  if (const T* found = typed<T>(attrs, name)) return *found;
  fail(Error::Code::invalid_model, "attribute '{}' is missing", name);
}

}  // namespace

const AttrValue* Attrs::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

void Attrs::set(std::string_view name, AttrValue value) {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& e, std::string_view n) { return e.first < n; });
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.insert(at, {std::string(name), std::move(value)});
  }
}

void Attrs::erase(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& e) { return e.first == name; });
}

s64 Attrs::i(std::string_view name) const { return required<s64>(*this, name); }

s64 Attrs::i(std::string_view name, s64 otherwise) const {
  const s64* found = typed<s64>(*this, name);
  return found != nullptr ? *found : otherwise;
}

f32 Attrs::f(std::string_view name, f32 otherwise) const {
  const f32* found = typed<f32>(*this, name);
  return found != nullptr ? *found : otherwise;
}

std::string Attrs::s(std::string_view name, std::string_view otherwise) const {
  const std::string* found = typed<std::string>(*this, name);
  return found != nullptr ? *found : std::string(otherwise);
}

std::vector<s64> Attrs::ints(std::string_view name) const {
  return required<std::vector<s64>>(*this, name);
}

std::vector<s64> Attrs::ints(std::string_view name, std::vector<s64> otherwise) const {
  const auto* found = typed<std::vector<s64>>(*this, name);
  return found != nullptr ? *found : otherwise;
}

std::vector<f32> Attrs::floats(std::string_view name, std::vector<f32> otherwise) const {
  const auto* found = typed<std::vector<f32>>(*this, name);
  return found != nullptr ? *found : otherwise;
}

std::optional<Tensor> Attrs::tensor(std::string_view name) const {
  const Tensor* found = typed<Tensor>(*this, name);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

GraphPtr Attrs::graph(std::string_view name) const { return required<GraphPtr>(*this, name); }

}  // namespace octet
