// SPDX-License-Identifier: Apache-2.0
#include "core/bounded_json.h"

#include <cmath>
#include <set>
#include <vector>

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

// Objects are lists that are searched from the front.
constexpr size_t kMostKeys = 40'000;

class Bounds {
 public:
  Bounds(const std::string& file, int most_depth) : file_(file), most_depth_(most_depth) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > most_depth_)
      fail(Error::Code::invalid_argument, "{}: nested deeper than {}", file_, most_depth_);
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key && keys_.back().size() == kMostKeys)
      fail(Error::Code::invalid_argument, "{}: an object of more than {} keys", file_, kMostKeys);
    if (event == Json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second)
      fail(Error::Code::invalid_argument, "{}: key {} appears twice", file_, parsed.dump());
    return true;
  }

 private:
  const std::string& file_;
  int most_depth_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

OrderedJsonTree parse_bounded_json(std::string_view text, const std::string& file, int most_depth) {
  Bounds bounds(file, most_depth);
  const auto bounded = [&](int depth, Json::parse_event_t event, Json& parsed) {
    return bounds(depth, event, parsed);
  };
  try {
    return OrderedJsonTree(Json::parse(text.begin(), text.end(), bounded));
  } catch (const Json::exception& error) {
    std::string_view said = error.what();  // "[json.exception.parse_error.101] parse error at ..."
    if (const size_t end = said.find("] "); end != said.npos) said.remove_prefix(end + 2);
    fail(Error::Code::invalid_argument, "{}: not valid JSON: {}", file, said);
  }
}

void JsonFields::check_object() const {
  if (!object.is_object()) wrong("not an object");
}

const Json& JsonFields::at(const char* key) const {
  const auto found = object.find(key);
  if (found == object.end()) wrong("'{}' is missing", key);
  return *found;
}

const Json& JsonFields::list(const char* key) const {
  const Json& value = at(key);
  if (!value.is_array()) wrong("'{}' is not a list", key);
  return value;
}

std::string JsonFields::text(const char* key) const {
  const Json& value = at(key);
  if (!value.is_string()) wrong("'{}' is not a text", key);
  return value.get<std::string>();
}

int64_t JsonFields::integer(const char* key, int64_t least, int64_t most) const {
  const Json& value = at(key);
  // Unsigned numbers beyond 63 bits would wrap.
  const bool fits =
      value.is_number_integer() &&
      !(value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most));
  if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
    wrong("'{}' is not an integer from {} to {}", key, least, most);
  return value.get<int64_t>();
}

double JsonFields::number(const Json& value, const char* key) const {
  if (!value.is_number() || !std::isfinite(value.get<double>())) wrong("'{}' is not a number", key);
  return value.get<double>();
}

}  // namespace octet
