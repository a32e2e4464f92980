// SPDX-License-Identifier: Apache-2.0
// Attributes: values of a declaration, and what a model gives for them.
#include <algorithm>

#include "plugin/declaration_reader.h"

namespace octet {
namespace {

constexpr const char* kKinds[] = {"none", "int", "float", "text", "ints", "floats"};
// In the order of the alternatives of AttrValue.
constexpr const char* kGot[] = {"int",    "float", "text",   "ints",
                                "floats", "texts", "tensor", "graph"};

template <class T>
std::vector<T> list(const T* from, u64 count, std::string_view what) {
  check_count(count, kMaxPluginValues, from, what);
  return {from, from + count};
}

void check_length(const PluginAttribute& attribute, u64 count, const char* of) {
  const u64 most = attribute.max_count == 0 ? kMaxPluginValues : attribute.max_count;
  if (count >= attribute.min_count && count <= most) return;
  fail(Error::Code::invalid_model, "attribute '{}' has {} {}, declared are {} to {}",
       attribute.name, count, of, attribute.min_count, most);
}

template <class T>
void check_numbers(const PluginAttribute& attribute, std::span<const T> numbers) {
  const bool bounded = attribute.least < attribute.most;
  for (const T number : numbers) {
    const f64 x = static_cast<f64>(number);
    if (!std::isfinite(x))
      fail(Error::Code::invalid_model, "attribute '{}' is not finite", attribute.name);
    if (bounded && (x < attribute.least || x > attribute.most))
      fail(Error::Code::invalid_model, "attribute '{}' is {}, declared is {} to {}", attribute.name,
           number, attribute.least, attribute.most);
  }
}

void check_text(const PluginAttribute& attribute, const std::string& text) {
  check_length(attribute, text.size(), "bytes");
  if (text.find('\0') != std::string::npos)
    fail(Error::Code::invalid_model, "attribute '{}' holds a zero byte", attribute.name);
  if (attribute.choices.empty() ||
      std::ranges::find(attribute.choices, text) != attribute.choices.end())
    return;
  std::string choices;
  for (const std::string& choice : attribute.choices)
    choices += (choices.empty() ? "" : ", ") + choice;
  fail(Error::Code::invalid_model, "attribute '{}' is '{}', declared are {}", attribute.name,
       text.substr(0, kMaxPluginText), choices);
}

u32 kind_of(const AttrValue& value) {
  const size_t index = value.index();
  return index < 5 ? static_cast<u32>(index + 1) : 0;
}

// An empty list has no kind of its own in some writers.
bool is_empty_list(const AttrValue& value) {
  const auto* ints = std::get_if<std::vector<s64>>(&value);
  const auto* floats = std::get_if<std::vector<f32>>(&value);
  return (ints != nullptr && ints->empty()) || (floats != nullptr && floats->empty());
}

}  // namespace

const char* attribute_kind_name(u32 type) { return type < std::size(kKinds) ? kKinds[type] : "?"; }

AttrValue read_value(const octet_plugin_value* value, u32 type, std::string_view what) {
  const octet_plugin_value known = known_part(value, what);
  if (known.type != type)
    bad_declaration("{} is of kind {}, not {}", what, attribute_kind_name(known.type),
                    attribute_kind_name(type));
  switch (type) {
    case OCTET_ATTRIBUTE_INT:
    case OCTET_ATTRIBUTE_FLOAT:
      if (known.count != 1) bad_declaration("{} has {} values, not 1", what, known.count);
      if (type == OCTET_ATTRIBUTE_INT) return list(known.ints, 1, what)[0];
      return list(known.floats, 1, what)[0];
    case OCTET_ATTRIBUTE_TEXT:
      if (known.count == 0) return std::string();
      check_count(known.count, kMaxPluginValues, known.text, what);
      return std::string(known.text, known.count);
    case OCTET_ATTRIBUTE_INTS:
      return list(known.ints, known.count, what);
    case OCTET_ATTRIBUTE_FLOATS:
      return list(known.floats, known.count, what);
    default:
      bad_declaration("{} is of the unknown kind {}", what, type);
  }
}

void check_value(const PluginAttribute& attribute, const AttrValue& value) {
  const bool list_kind =
      attribute.type == OCTET_ATTRIBUTE_INTS || attribute.type == OCTET_ATTRIBUTE_FLOATS;
  if (kind_of(value) != attribute.type && !(list_kind && is_empty_list(value)))
    fail(Error::Code::invalid_model, "attribute '{}' is of kind {}, declared is {}", attribute.name,
         kGot[value.index()], attribute_kind_name(attribute.type));
  if (const auto* text = std::get_if<std::string>(&value)) return check_text(attribute, *text);
  if (const s64* i = std::get_if<s64>(&value)) return check_numbers<s64>(attribute, {i, 1});
  if (const f32* f = std::get_if<f32>(&value)) return check_numbers<f32>(attribute, {f, 1});
  if (const auto* ints = std::get_if<std::vector<s64>>(&value)) {
    check_length(attribute, ints->size(), "values");
    return check_numbers<s64>(attribute, *ints);
  }
  const auto& floats = std::get<std::vector<f32>>(value);
  check_length(attribute, floats.size(), "values");
  check_numbers<f32>(attribute, floats);
}

Attrs checked_attributes(const Declaration& declaration, const Attrs& attrs) {
  for (const auto& [name, value] : attrs.entries()) {
    if (name.starts_with("octet.")) continue;
    if (std::ranges::find(declaration.attributes, name, &PluginAttribute::name) ==
        declaration.attributes.end())
      fail(Error::Code::invalid_model, "attribute '{}' is not declared by {}",
           name.substr(0, kMaxPluginText), declaration.full_name());
  }
  Attrs checked;
  for (const PluginAttribute& attribute : declaration.attributes) {
    const AttrValue* given = attrs.find(attribute.name);
    if (given == nullptr && !attribute.otherwise)
      fail(Error::Code::invalid_model, "attribute '{}' is missing; {} requires it", attribute.name,
           declaration.full_name());
    const AttrValue& value = given != nullptr ? *given : *attribute.otherwise;
    check_value(attribute, value);
    // An empty list of the declared kind.
    const bool floats = attribute.type == OCTET_ATTRIBUTE_FLOATS;
    if (is_empty_list(value))
      checked.set(attribute.name,
                  floats ? AttrValue(std::vector<f32>()) : AttrValue(std::vector<s64>()));
    else
      checked.set(attribute.name, value);
  }
  return checked;
}

}  // namespace octet
