// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "failure.h"
#include "octet/closest.h"

namespace octet::triton {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Error::Code::invalid_argument, message);
}

[[noreturn]] void refuse(const std::string& key, const std::string& value, const char* expected) {
  refuse(fmt::format("parameter '{}' is '{}', expected {}", key, value, expected));
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = text.find(by); end != std::string::npos; end = text.find(by, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

int64_t number_in(const std::string& key, const std::string& text, int64_t least, int64_t most) {
  const std::optional<int64_t> value = number(text);
  if (!value || *value < least || *value > most)
    refuse(key, text, fmt::format("a whole number from {} to {}", least, most).c_str());
  return *value;
}

double percent_of(const std::string& key, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0 && value <= 100))
    refuse(key, text, "percent of a processor's time, from 0 to 100");
  return value;
}

// "512M", "16G"
int64_t bytes_of(const std::string& key, const std::string& text) {
  static constexpr std::string_view kUnits = "KMGT";
  std::string digits = text;
  int shift = 0;
  const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  if (unit != std::string_view::npos) {
    digits.pop_back();
    shift = static_cast<int>(unit + 1) * 10;
  }
  const std::optional<int64_t> value = number(digits);
  if (!value || *value <= 0 || *value > (INT64_MAX >> shift))
    refuse(key, text, "bytes, or a number with K, M, G or T");
  return *value << shift;
}

bool yes_or_no(const std::string& key, const std::string& text) {
  if (text == "true" || text == "on" || text == "1") return true;
  if (text == "false" || text == "off" || text == "0") return false;
  refuse(key, text, "true or false");
}

std::vector<int64_t> batches_of(const std::string& key, const std::string& text) {
  std::vector<int64_t> sizes;
  for (const std::string& part : split(text, ','))
    sizes.push_back(number_in(key, part, 1, int64_t{1} << 20));
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

using Setters = std::map<std::string, std::function<void(const std::string&)>>;

void set(const Setters& setters, const std::string& key, const std::string& value) {
  const auto at = setters.find(key);
  if (at != setters.end()) return at->second(value);
  std::vector<std::string> known;
  for (const auto& [name, setter] : setters) known.push_back(name);
  refuse(fmt::format("the octet backend has no parameter '{}'{}", key, did_you_mean(key, known)));
}

Shape shape_of(const std::string& text, const TensorInfo& input) {
  Shape shape;
  if (text != "scalar") {
    for (const std::string& part : split(text, 'x')) {
      const std::optional<int64_t> size = number(part);
      if (!size || *size < 0 || shape.rank() == Shape::kMaxRank)
        refuse("shapes", text,
               fmt::format("sizes of input '{}' like 3x224x224", input.name).c_str());
      shape.push_back(*size);
    }
  }
  return shape;
}

SampleShapes sample_of(const std::string& text, const std::vector<TensorInfo>& inputs) {
  SampleShapes sample(inputs.size());
  std::vector<bool> given(inputs.size());
  for (const std::string& part : split(text, ',')) {
    const size_t colon = part.rfind(':');
    if (colon == std::string::npos && inputs.size() != 1)
      refuse("shapes", text, "INPUT:SIZES for each input, as the model has several");
    const std::string name = colon == std::string::npos ? inputs[0].name : part.substr(0, colon);
    const auto at = std::ranges::find(inputs, name, &TensorInfo::name);
    if (at == inputs.end())
      refuse(fmt::format("parameter 'shapes': the model has no input '{}'", name));
    const auto i = static_cast<size_t>(at - inputs.begin());
    sample[i] = shape_of(colon == std::string::npos ? part : part.substr(colon + 1), *at);
    given[i] = true;
  }
  const auto missing = std::ranges::find(given, false);
  if (missing != given.end())
    refuse(fmt::format("parameter 'shapes': '{}' says nothing of input '{}'", text,
                       inputs[static_cast<size_t>(missing - given.begin())].name));
  return sample;
}

}  // namespace

Json parse_message(TRITONSERVER_Message* message) {
  const char* text = nullptr;
  size_t bytes = 0;
  check(TRITONSERVER_MessageSerializeToJson(message, &text, &bytes));
  return Json::parse(text, text + bytes);
}

int64_t whole_number(const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  const std::optional<int64_t> read =
      value.is_string() ? number(value.get<std::string>()) : std::nullopt;
  if (!read)
    refuse(fmt::format("the configuration has {} in place of a whole number", value.dump()));
  return *read;
}

BackendSettings backend_settings(const Json& config) {
  BackendSettings settings;
  const Json given = config.value("cmdline", Json::object());
  const auto with = [&](const char* key, const auto& take) {
    if (given.contains(key)) take(key, given.at(key).get<std::string>());
  };
  with("threads", [&](const std::string& key, const std::string& value) {
    settings.threads = static_cast<int>(number_in(key, value, 1, 256));
  });
  with("default-max-batch-size", [&](const std::string& key, const std::string& value) {
    settings.default_max_batch = number_in(key, value, 0, int64_t{1} << 20);
  });
  with("memory-limit", [&](const std::string& key, const std::string& value) {
    settings.memory_limit = bytes_of(key, value);
  });
  with("clip-watch", [&](const std::string& key, const std::string& value) {
    settings.clip_watch = percent_of(key, value);
  });
  return settings;
}

ModelSettings model_settings(const Json& config) {
  ModelSettings settings;
  const auto copy_to = [](std::string& to) {
    return [&to](const std::string& value) { to = value; };
  };
  const Setters setters = {
      {"threads",
       [&](const std::string& value) {
         settings.threads = static_cast<int>(number_in("threads", value, 1, 256));
       }},
      {"device", copy_to(settings.device)},
      {"batch_sizes",
       [&](const std::string& value) { settings.batch_sizes = batches_of("batch_sizes", value); }},
      {"shapes", copy_to(settings.shapes)},
      {"warm_up",
       [&](const std::string& value) { settings.warm_up = yes_or_no("warm_up", value); }},
      {"precision",
       [&](const std::string& value) {
         if (value != "int8" && value != "f32" && value != "fastest")
           refuse("precision", value, "int8, f32 or fastest");
         settings.precision = value;
       }},
      {"calibration_cache", copy_to(settings.calibration_cache)},
      {"clip_watch",
       [&](const std::string& value) { settings.clip_watch = percent_of("clip_watch", value); }},
  };
  const Json given = config.value("parameters", Json::object());
  for (const auto& [key, value] : given.items()) {
    if (key.starts_with("TRITON_")) continue;  // the server's own
    set(setters, key, value.value("string_value", ""));
  }
  return settings;
}

std::vector<SampleShapes> parse_sample_shapes(const std::string& text,
                                              const std::vector<TensorInfo>& inputs) {
  std::vector<SampleShapes> shapes;
  if (text.empty()) return shapes;
  for (const std::string& part : split(text, ';')) shapes.push_back(sample_of(part, inputs));
  return shapes;
}

}  // namespace octet::triton
