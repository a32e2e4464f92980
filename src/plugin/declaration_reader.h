// SPDX-License-Identifier: Apache-2.0
// Reading the structs of a plugin: by their sizes, within limits, each problem with the name of its field.
#pragma once

#include <cmath>
#include <cstring>
#include <string>

#include "core/check.h"
#include "plugin/declaration.h"

namespace octet {

inline constexpr size_t kMaxPluginText = 256;
inline constexpr u64 kMaxPluginStruct = 4096;

template <class... Args>
[[noreturn]] void bad_declaration(fmt::format_string<Args...> format, Args&&... args) {
  fail(Error::Code::invalid_argument, format, std::forward<Args>(args)...);
}

// What both sides know of a struct; what the plugin's side lacks is zero.
template <class T>
T known_part(const T* from, std::string_view what) {
  if (from == nullptr) bad_declaration("{} is null", what);
  if (from->size < sizeof(T) || from->size > kMaxPluginStruct)
    bad_declaration("{} says that it has {} bytes; this interface has {}", what, from->size,
                    sizeof(T));
  T known;
  std::memcpy(&known, from, sizeof known);
  return known;
}

inline std::string plugin_text(const char* text, std::string_view what,
                               size_t most = kMaxPluginText) {
  if (text == nullptr) bad_declaration("{} is null", what);
  const size_t length = strnlen(text, most + 1);
  if (length > most) bad_declaration("{} is longer than {} bytes", what, most);
  return {text, length};
}

// A name that files may hold without quotes: letters, digits, _ and what `also` has.
std::string plugin_name(const char* text, std::string_view what, std::string_view also = "");

inline void check_count(u64 count, u64 most, const void* array, std::string_view what) {
  if (count > most) bad_declaration("{} {}; at most {} are allowed", count, what, most);
  if (count > 0 && array == nullptr) bad_declaration("{} {} at a null pointer", count, what);
}

// A value of the plugin as ours; it must be of kind `type`.
AttrValue read_value(const octet_plugin_value* value, u32 type, std::string_view what);
// Throws Error(invalid_model) where the value is not as declared.
void check_value(const PluginAttribute& attribute, const AttrValue& value);
const char* attribute_kind_name(u32 type);

}  // namespace octet
