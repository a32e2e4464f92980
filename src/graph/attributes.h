// SPDX-License-Identifier: Apache-2.0
// Attributes as a struct of their operator (docs/adr/0033): names, types and defaults stand in one place, and whoever asks reads members. Such a struct has
// a function `fields` that pairs each name with its member:
//
//   struct SoftmaxAttributes {
//     s64 axis = -1;
//     bool flatten = false;
//     template <class Self, class Visit>
//     static void fields(Self& self, Visit&& field) {
//       field("axis", self.axis);
//       field("flatten", self.flatten);
//     }
//   };
//
// A member's initializer is the default. Members are s64, bool (an int other than 0), f32, std::string, Dtype (its name), lists of s64, f32 and strings,
// Tensor, GraphPtr, an enum with attribute_names(), or std::optional of one of these where absence means something.
// A struct of several operators is derived from those that it extends, and its `fields` calls theirs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/types.h"
#include "graph/graph.h"
#include "octet/tensor.h"

namespace octet {

// Third argument of a field: reading a node without it throws Error(invalid_model).
struct RequiredAttribute {};
inline constexpr RequiredAttribute kRequired;

// The words of an enum's values in a graph; found by argument-dependent lookup of attribute_names(E).
template <class E>
using AttributeNames = std::span<const std::pair<std::string_view, E>>;

namespace attributes_detail {

void read(const Attrs& attrs, std::string_view name, s64& member);
void read(const Attrs& attrs, std::string_view name, bool& member);
void read(const Attrs& attrs, std::string_view name, f32& member);
void read(const Attrs& attrs, std::string_view name, std::string& member);
void read(const Attrs& attrs, std::string_view name, Dtype& member);
void read(const Attrs& attrs, std::string_view name, std::vector<s64>& member);
void read(const Attrs& attrs, std::string_view name, std::vector<f32>& member);
void read(const Attrs& attrs, std::string_view name, std::vector<std::string>& member);
void read(const Attrs& attrs, std::string_view name, Tensor& member);
void read(const Attrs& attrs, std::string_view name, GraphPtr& member);

// Throws Error(invalid_model) saying what the attribute is and what it may be.
[[noreturn]] void fail_word(std::string_view name, std::string_view word,
                            std::span<const std::string_view> known);
void check_present(const Attrs& attrs, std::string_view name);

template <class E>
requires(std::is_enum_v<E> && !std::is_same_v<E, Dtype>) void read(const Attrs& attrs,
                                                                   std::string_view name,
                                                                   E& member) {
  if (!attrs.has(name)) return;
  const std::string word = attrs.s(name, "");
  const AttributeNames<E> names = attribute_names(E{});
  for (const auto& [known, value] : names) {
    if (known != word) continue;
    member = value;
    return;
  }
  std::vector<std::string_view> words;
  for (const auto& known : names) words.push_back(known.first);
  fail_word(name, word, words);
}

template <class T>
void read(const Attrs& attrs, std::string_view name, std::optional<T>& member) {
  if (attrs.has(name)) read(attrs, name, member.emplace());
}

struct Reader {
  const Attrs& attrs;
  template <class T>
  void operator()(std::string_view name, T& member) const {
    read(attrs, name, member);
  }
  template <class T>
  void operator()(std::string_view name, T& member, RequiredAttribute) const {
    check_present(attrs, name);
    read(attrs, name, member);
  }
};

// Calls `field` for the one member at `wanted`.
template <class Field>
struct Only {
  const void* wanted;
  const Field& field;
  template <class T, class... Required>
  void operator()(std::string_view name, T& member, Required... required) const {
    if (static_cast<const void*>(&member) == wanted) field(name, member, required...);
  }
};

template <class T>
struct MemberPointer;
template <class S, class T>
struct MemberPointer<T S::*> {
  using Struct = S;
  using Type = T;
};
template <auto kMember>
using StructOf = typename MemberPointer<std::remove_const_t<decltype(kMember)>>::Struct;
template <auto kMember>
using TypeOf = typename MemberPointer<std::remove_const_t<decltype(kMember)>>::Type;

template <class T>
struct Stored {
  static AttrValue value(T member) { return member; }
};
template <>
struct Stored<bool> {
  static AttrValue value(bool member) { return s64{member}; }
};
template <>
struct Stored<Dtype> {
  static AttrValue value(Dtype member) { return std::string(dtype_name(member)); }
};
template <class E>
requires(std::is_enum_v<E> && !std::is_same_v<E, Dtype>) struct Stored<E> {
  static AttrValue value(E member) {
    for (const auto& [word, value] : attribute_names(member)) {
      if (value == member) return std::string(word);
    }
    return std::string();
  }
};
template <class T>
struct Stored<std::optional<T>> {
  static AttrValue value(T member) { return Stored<T>::value(std::move(member)); }
};

template <class T>
struct Plain {
  using Type = T;
};
template <class T>
struct Plain<std::optional<T>> {
  using Type = T;
};

}  // namespace attributes_detail

// All attributes of struct S; what the node does not say keeps its default. Throws Error(invalid_model) for one of another kind, and where a
// required one is missing.
template <class S>
S attributes_of(const Attrs& attrs) {
  S result;
  S::fields(result, attributes_detail::Reader{attrs});
  return result;
}
template <class S>
S attributes_of(const Node& node) {
  return attributes_of<S>(node.attrs);
}

// One of them: attribute_of<&SoftmaxAttributes::axis>(node).
template <auto kMember>
attributes_detail::TypeOf<kMember> attribute_of(const Attrs& attrs) {
  attributes_detail::StructOf<kMember> all;
  const attributes_detail::Reader reader{attrs};
  using Only = attributes_detail::Only<attributes_detail::Reader>;
  attributes_detail::StructOf<kMember>::fields(all, Only{&(all.*kMember), reader});
  return std::move(all.*kMember);
}
template <auto kMember>
attributes_detail::TypeOf<kMember> attribute_of(const Node& node) {
  return attribute_of<kMember>(node.attrs);
}

// Its name in a graph: for errors, and for whoever writes graphs.
template <auto kMember>
std::string_view attribute_name() {
  const attributes_detail::StructOf<kMember> all;
  std::string_view result;
  const auto take = [&](std::string_view name, const auto&, auto...) { result = name; };
  using Only = attributes_detail::Only<decltype(take)>;
  attributes_detail::StructOf<kMember>::fields(all, Only{&(all.*kMember), take});
  return result;
}

template <auto kMember>
bool has_attribute(const Node& node) {
  return node.attrs.has(attribute_name<kMember>());
}

template <auto kMember>
void set_attribute(
    Attrs& attrs,
    typename attributes_detail::Plain<attributes_detail::TypeOf<kMember>>::Type value) {
  using Type = attributes_detail::TypeOf<kMember>;
  attrs.set(attribute_name<kMember>(), attributes_detail::Stored<Type>::value(std::move(value)));
}

template <auto kMember>
void erase_attribute(Attrs& attrs) {
  attrs.erase(attribute_name<kMember>());
}

template <class S>
void erase_attributes(Attrs& attrs) {
  const S all;
  S::fields(all, [&](std::string_view name, const auto&, auto...) { attrs.erase(name); });
}

// What `from` says of the attributes of S, as it stands there.
template <class S>
void copy_attributes(const Attrs& from, Attrs& to) {
  const S all;
  S::fields(all, [&](std::string_view name, const auto&, auto...) {
    if (const AttrValue* value = from.find(name)) to.set(name, *value);
  });
}

}  // namespace octet
