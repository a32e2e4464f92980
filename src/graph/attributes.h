// SPDX-License-Identifier: Apache-2.0
// Attributes as a struct of their operator (docs/adr/0033): names, types and defaults stand in one place, and whoever asks reads members:
//
//   struct SplitAttributes : AxisAttributes {
//     s64 parts = 0;
//     std::optional<s64> num_outputs;
//
//     OCTET_MORE_ATTRIBUTES(AxisAttributes, num_outputs)
//     OCTET_REQUIRED_ATTRIBUTES(parts)
//   };
//
// A member has the attribute's name, and its initializer is the default. Members are s64, bool (an int other than 0), f32, std::string, Dtype (its
// name), lists of s64, f32 and strings, Tensor, GraphPtr, an enum with attribute_words(), or std::optional of one of these where absence means something.
#pragma once

#include <array>
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

// Inside of a struct: those of its members that are attributes; the same of one that is derived from another such struct; and those without which
// a node means nothing: reading it throws Error(invalid_model).
#define OCTET_ATTRIBUTES(...)                     \
  template <class Self, class Visit>              \
  static void fields(Self& self, Visit&& field) { \
    OCTET_FIELDS(__VA_ARGS__)                     \
  }
#define OCTET_MORE_ATTRIBUTES(Base, ...)          \
  template <class Self, class Visit>              \
  static void fields(Self& self, Visit&& field) { \
    Base::fields(self, field);                    \
    OCTET_FIELDS(__VA_ARGS__)                     \
  }
#define OCTET_REQUIRED_ATTRIBUTES(...)              \
  template <class Self, class Visit>                \
  static void required(Self& self, Visit&& field) { \
    OCTET_FIELDS(__VA_ARGS__)                       \
  }

// field("name", self.name); for each of up to 16.
#define OCTET_FIELDS(...) OCTET_SCAN(OCTET_SCAN(OCTET_FIELD(__VA_ARGS__)))
#define OCTET_SCAN(...) OCTET_SCAN_AGAIN(OCTET_SCAN_AGAIN(OCTET_SCAN_AGAIN(__VA_ARGS__)))
#define OCTET_SCAN_AGAIN(...) __VA_ARGS__
#define OCTET_FIELD(name, ...) \
  field(#name, self.name);     \
  __VA_OPT__(OCTET_FIELD_AGAIN OCTET_PARENTHESES(__VA_ARGS__))
#define OCTET_FIELD_AGAIN() OCTET_FIELD
#define OCTET_PARENTHESES ()

// A value of an enum as graphs write it. An enum that is a member has beside it
//   constexpr auto attribute_words(E) { return std::to_array<AttributeWord<E>>({{"word", E::value}, ...}); }
template <class E>
using AttributeWord = std::pair<std::string_view, E>;

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
  const auto names = attribute_words(E{});
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

struct Required {};

struct Reader {
  const Attrs& attrs;
  template <class T>
  void operator()(std::string_view name, T& member) const {
    read(attrs, name, member);
  }
  template <class T>
  void operator()(std::string_view name, T& member, Required) const {
    check_present(attrs, name);
    read(attrs, name, member);
  }
};

// Calls `field` for all attributes of a struct; for those that a node must have with a third argument.
template <class S, class Self, class Field>
void visit(Self& self, const Field& field) {
  const auto required = [&](std::string_view name, auto& member) {
    field(name, member, Required());
  };
  if constexpr (requires { S::fields(self, field); }) S::fields(self, field);
  if constexpr (requires { S::required(self, required); }) S::required(self, required);
}

// Calls `field` for the one member at `wanted`.
template <class Field>
struct Only {
  const void* wanted;
  const Field& field;
  template <class T, class... Presence>
  void operator()(std::string_view name, T& member, Presence... presence) const {
    if (static_cast<const void*>(&member) == wanted) field(name, member, presence...);
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
    for (const auto& [word, value] : attribute_words(member)) {
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
  attributes_detail::visit<S>(result, attributes_detail::Reader{attrs});
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
  attributes_detail::visit<attributes_detail::StructOf<kMember>>(all,
                                                                 Only{&(all.*kMember), reader});
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
  attributes_detail::visit<attributes_detail::StructOf<kMember>>(all, Only{&(all.*kMember), take});
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
  attributes_detail::visit<S>(
      all, [&](std::string_view name, const auto&, auto...) { attrs.erase(name); });
}

// What `from` says of the attributes of S, as it stands there.
template <class S>
void copy_attributes(const Attrs& from, Attrs& to) {
  const S all;
  attributes_detail::visit<S>(all, [&](std::string_view name, const auto&, auto...) {
    if (const AttrValue* value = from.find(name)) to.set(name, *value);
  });
}

}  // namespace octet
