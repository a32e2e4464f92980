// SPDX-License-Identifier: Apache-2.0
// The tuning file. It is data from anywhere: every field is checked before the first is used.
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/bounded_json.h"
#include "core/file.h"
#include "octet/tuning.h"
#include "plan/tuning.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr u64 kMaxBytes = 4 << 20;
constexpr int kMaxNesting = 3;
constexpr size_t kMaxChoices = 1 << 14;
constexpr size_t kMaxText = kMaxTunedName;
constexpr s64 kMaxThreads = 1 << 16;
constexpr const char* kFormat = "octet-tuning";
// 1 named CPUs alone, and layers in other words.
constexpr s64 kVersion = 2;

constexpr const char* kExpected = "what measuring the selection of kernels writes";

struct ChoiceReader : JsonFields {
  std::string short_text(const char* key) const {
    std::string value = text(key);
    if (value.empty() || value.size() > kMaxText)
      wrong("'{}' has {} bytes, expected 1 to {}", key, value.size(), kMaxText);
    return value;
  }

  f64 duration(const char* key) const {
    const f64 value = number(at(key), key);
    if (value < 0) wrong("'{}' is not a time", key);
    return value;
  }
};

void read_choice(const ChoiceReader& reader, Tuning& tuning) {
  TuningKey key;
  key.chip = reader.short_text("chip");
  key.level = reader.short_text("level");
  key.layer = reader.short_text("layer");
  key.threads = static_cast<int>(reader.integer("threads", 1, kMaxThreads));
  if (tuning.find(key) != nullptr) reader.wrong("the layer has a choice before");
  tuning.set(key, {reader.short_text("kernel"), reader.duration("microseconds")});
}

}  // namespace

Tuning tuning_from_json(std::string_view text, const std::string& file_name) {
  const OrderedJsonTree tree = parse_bounded_json(text, file_name, kMaxNesting);
  const Json& json = tree.value;
  const ChoiceReader reader{{json, file_name, kExpected}};
  reader.check_object();
  if (reader.text("format") != kFormat) reader.wrong("'format' is not {}", kFormat);
  if (reader.integer("version", 1, kVersion) < kVersion)
    reader.wrong("'version' is of an Octet before this one: its layers must be measured again");
  const Json& choices = reader.list("choices");
  if (choices.size() > kMaxChoices)
    reader.wrong("{} choices, expected at most {}", choices.size(), kMaxChoices);
  Tuning tuning;
  for (size_t i = 0; i < choices.size(); ++i) {
    const ChoiceReader choice{{choices[i], file_name, kExpected, fmt::format("choice {}: ", i)}};
    choice.check_object();
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
