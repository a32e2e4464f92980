// SPDX-License-Identifier: Apache-2.0
#include "inspect/tensorrt/text.h"

#include "inspect/json.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

bool has_objects(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

std::string object_text(const Json& object, const std::string& indent) {
  std::string text = "{\n";
  for (const auto& [key, value] : object.items()) {
    if (text.size() > 2) text += ",\n";
    text += indent + "  " + json_text(key) + ": ";
    if (!has_objects(value)) {
      text += json_text(value);
      continue;
    }
    text += "[";
    for (size_t i = 0; i < value.size(); ++i)
      text += (i > 0 ? "," : "") + ("\n" + indent + "  ") + object_text(value[i], indent + "  ");
    text += "]";
  }
  return text + "\n" + indent + "}";
}

std::string line_of(const Json& value);

std::string pairs_of(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items())
    text += (text.empty() ? "" : ", ") + key + ": " + line_of(value);
  return text;
}

// What would break the line, or hide a separator, becomes '+', as tools have it that read these names.
std::string plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = '+';
  }
  return text;
}

std::string line_of(const Json& value) {
  if (value.is_string()) return plain(value.get<std::string>());
  if (value.is_object()) return "{ " + pairs_of(value) + " }";
  if (!has_objects(value)) return json_text(value);
  std::string text = "[ ";
  for (size_t i = 0; i < value.size(); ++i) text += (i > 0 ? ", " : "") + line_of(value[i]);
  return text + "]";
}

}  // namespace

std::string inspector_json(const Json& value) {
  return value.is_object() ? object_text(value, "") : json_text(value);
}

std::string inspector_line(const Json& value) {
  return value.is_object() ? pairs_of(value) : line_of(value);
}

}  // namespace octet
