// SPDX-License-Identifier: Apache-2.0
// The tuning file. It is data from anywhere: every field is checked before the first is used.
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/file.h"
#include "octet/tuning.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr u64 kMaxBytes = 4 << 20;
constexpr int kMaxNesting = 3;
constexpr size_t kMaxChoices = 1 << 14;
constexpr size_t kMaxText = 4096;
constexpr s64 kMaxThreads = 1 << 16;
constexpr const char* kFormat = "octet-tuning";
// 1 named CPUs alone, and layers in other words.
constexpr s64 kVersion = 2;

// One object of the file, and what to call it in errors.
struct FieldReader {
  const Json& object;
  const std::string& file;
  std::string where;

  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> text, Args&&... args) const {
    fail(Error::Code::invalid_argument,
         "{}: {}{}; expected what measuring the selection of kernels writes", file, where,
         fmt::format(text, std::forward<Args>(args)...));
  }

  const Json& at(const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) wrong("'{}' is missing", key);
    return *found;
  }

  std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) wrong("'{}' is not a text", key);
    std::string text = value.get<std::string>();
    if (text.empty() || text.size() > kMaxText)
      wrong("'{}' has {} bytes, expected 1 to {}", key, text.size(), kMaxText);
    return text;
  }

  s64 integer(const char* key, s64 least, s64 most) const {
    const Json& value = at(key);
    // Unsigned numbers beyond 63 bits would wrap.
    const bool fits = value.is_number_integer() &&
                      !(value.is_number_unsigned() && value.get<u64>() > static_cast<u64>(most));
    if (!fits || value.get<s64>() < least || value.get<s64>() > most)
      wrong("'{}' is not an integer from {} to {}", key, least, most);
    return value.get<s64>();
  }

  f64 duration(const char* key) const {
    const Json& value = at(key);
    if (!value.is_number() || !std::isfinite(value.get<f64>()) || value.get<f64>() < 0)
      wrong("'{}' is not a time", key);
    return value.get<f64>();
  }
};

Json parse(std::string_view text, const std::string& file) {
  const auto bounded = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxNesting)
      fail(Error::Code::invalid_argument, "{}: nested deeper than {}", file, kMaxNesting);
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), bounded);
  } catch (const Json::exception& error) {
    fail(Error::Code::invalid_argument, "{}: not JSON: {}", file, error.what());
  }
}

void read_choice(const FieldReader& reader, Tuning& tuning) {
  TuningKey key;
  key.chip = reader.text("chip");
  key.level = reader.text("level");
  key.layer = reader.text("layer");
  key.threads = static_cast<int>(reader.integer("threads", 1, kMaxThreads));
  if (tuning.find(key) != nullptr) reader.wrong("the layer has a choice before");
  tuning.set(key, {reader.text("kernel"), reader.duration("microseconds")});
}

}  // namespace

Tuning tuning_from_json(std::string_view text, const std::string& file_name) {
  const Json json = parse(text, file_name);
  const FieldReader reader{json, file_name, ""};
  if (!json.is_object()) reader.wrong("not an object");
  if (reader.text("format") != kFormat) reader.wrong("'format' is not {}", kFormat);
  if (reader.integer("version", 1, kVersion) < kVersion)
    reader.wrong("'version' is of an Octet before this one: its layers must be measured again");
  const Json& choices = reader.at("choices");
  if (!choices.is_array()) reader.wrong("'choices' is not a list");
  if (choices.size() > kMaxChoices)
    reader.wrong("{} choices, expected at most {}", choices.size(), kMaxChoices);
  Tuning tuning;
  for (size_t i = 0; i < choices.size(); ++i) {
    const FieldReader choice{choices[i], file_name, fmt::format("choice {}: ", i)};
    if (!choices[i].is_object()) choice.wrong("not an object");
    read_choice(choice, tuning);
  }
  return tuning;
}

std::string to_json(const Tuning& tuning) {
  Json choices = Json::array();
  for (const auto& [key, choice] : tuning.kernels()) {
    // What could not be read back is not written: a layer with kilobytes of attributes goes by the cost model.
    if (key.layer.size() > kMaxText || choices.size() == kMaxChoices) continue;
    choices.push_back({{"chip", key.chip},
                       {"level", key.level},
                       {"threads", key.threads},
                       {"layer", key.layer},
                       {"kernel", choice.kernel},
                       {"microseconds", choice.microseconds}});
  }
  const Json file = {{"format", kFormat}, {"version", kVersion}, {"choices", std::move(choices)}};
  return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Tuning load_tuning(const std::filesystem::path& path) {
  const std::vector<u8> bytes = read_file(path, kMaxBytes);
  return tuning_from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                          path.string());
}

void save_tuning(const Tuning& tuning, const std::filesystem::path& path) {
  const std::string text = to_json(tuning);
  if (text.size() > kMaxBytes)
    fail(Error::Code::invalid_argument, "{}: the choices of so many layers pass {} MiB",
         path.string(), kMaxBytes >> 20);
  AtomicFile file(path);
  file.write({reinterpret_cast<const u8*>(text.data()), text.size()});
  file.commit();
}

}  // namespace octet
