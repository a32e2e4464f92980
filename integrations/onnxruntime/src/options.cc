// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <optional>

#include "octet/calibration_cache.h"
#include "octet/closest.h"
#include "octet/machine.h"

namespace octet_ort {
namespace {

using octet::Error;

// What ONNX Runtime puts before the names of a device's options.
constexpr std::string_view kPrefix = "ep.octetexecutionprovider.";
constexpr std::string_view kOwn = "octet.";

using Problems = std::vector<std::string>;

struct Setter {
  std::string_view name;
  std::string_view expected;
  std::function<bool(const std::string& value, Options& options)> set;
};

bool to_number(const std::string& text, int64_t low, int64_t high, int64_t& number) {
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stop == end && number >= low && number <= high;
}

bool to_flag(const std::string& text, bool& flag) {
  flag = text == "1";
  return text == "0" || text == "1";
}

bool to_count(const std::string& text, int low, int& count) {
  int64_t number = 0;
  if (!to_number(text, low, 256, number)) return false;
  count = static_cast<int>(number);
  return true;
}

// A path with a zero inside would end there.
bool to_path(const std::string& text, std::filesystem::path& path) {
  path = text;
  return !text.empty() && text.find('\0') == std::string::npos;
}

bool to_observe(const std::string& text, Options& options) {
  constexpr std::string_view word = "observe:";
  if (text == "off") return true;
  return text.starts_with(word) &&
         to_number(text.substr(word.size()), 1, 1'000'000, options.observe);
}

bool to_favor(const std::string& text, Options& options) {
  int64_t percent = 0;
  if (text == "speed" || text == "accuracy") {
    options.accuracy_time = text == "speed" ? 0 : octet::kAllForAccuracy;
    return true;
  }
  if (!to_number(text, 0, 100, percent)) return false;
  options.accuracy_time = static_cast<double>(percent) / 100;
  return true;
}

bool to_take(const std::string& text, Options& options) {
  options.take_all = text == "all";
  return text == "all" || text == "int8";
}

bool to_source(const std::string& text, Options& options) {
  options.from_file = text == "file";
  return text == "file" || text == "session";
}

bool to_megabytes(const std::string& text, Options& options) {
  int64_t number = 0;
  if (!to_number(text, 1, int64_t{1} << 20, number)) return false;
  options.observe_bytes = number << 20;
  return true;
}

const std::vector<Setter>& setters() {
  static const std::vector<Setter> all = {
      {"device", "\"cpu\", \"cuda:0\", ...",
       [](const std::string& v, Options& o) { return !(o.device = v).empty(); }},
      {"threads", "a number from 0 to 256",
       [](const std::string& v, Options& o) { return to_count(v, 0, o.threads); }},
      {"streams", "a number from 1 to 256",
       [](const std::string& v, Options& o) { return to_count(v, 1, o.streams); }},
      {"calibration_cache", "a file",
       [](const std::string& v, Options& o) { return to_path(v, o.cache); }},
      {"cache_of_any_model", "0 or 1",
       [](const std::string& v, Options& o) { return to_flag(v, o.cache_of_any_model); }},
      {"int8", "\"observe:N\" with N from 1 to 1000000, or \"off\"", to_observe},
      {"observe_megabytes", "a number from 1 to 1048576", to_megabytes},
      {"equalize", "0 or 1",
       [](const std::string& v, Options& o) { return to_flag(v, o.equalize); }},
      {"favor", "\"speed\", \"accuracy\" or a number of per cent from 0 to 100", to_favor},
      {"take", "\"int8\" or \"all\"", to_take},
      {"source", "\"file\" or \"session\"", to_source},
      {"save_models", "a folder",
       [](const std::string& v, Options& o) { return to_path(v, o.save_models); }},
  };
  return all;
}

// The option that a key of the session's configuration means; nothing where it is not ours.
std::optional<std::string> own_name(const std::string& key) {
  std::string_view rest = key;
  bool ours = false;
  if (rest.starts_with(kPrefix)) {
    rest.remove_prefix(kPrefix.size());
    ours = true;
  }
  if (rest.starts_with(kOwn)) {
    rest.remove_prefix(kOwn.size());
    ours = true;
  }
  if (!ours) return std::nullopt;
  return std::string(rest);
}

// What a device brings, unless a program has said it without "octet.": the host hands entries over in any order.
bool is_default(const std::string& key) {
  return key.starts_with(kPrefix) &&
         !std::string_view(key).substr(kPrefix.size()).starts_with(kOwn);
}

// Long or unprintable values are not repeated whole.
std::string shown(const std::string& value) {
  std::string text = value.substr(0, 80);
  for (char& c : text) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  }
  return "\"" + text + (value.size() > 80 ? "...\"" : "\"");
}

void set_own(const std::string& name, const std::string& value, Options& options,
             Problems& problems) {
  const auto& all = setters();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Setter& setter) { return setter.name == name; });
  if (found == all.end()) {
    std::string text;
    std::vector<std::string> known;
    for (const Setter& setter : all) {
      known.emplace_back(setter.name);
      text += (text.empty() ? "" : ", ") + known.back();
    }
    problems.push_back("there is no option " + shown(name) + octet::did_you_mean(name, known) +
                       "; there are " + text);
  } else if (!found->set(value, options)) {
    problems.push_back("octet." + name + " is " + shown(value) + ", expected " +
                       std::string(found->expected));
  }
}

// Before anything is built of it; where runs are observed it may come yet.
void check_cache(const Options& options) {
  std::error_code problem;
  if (std::filesystem::exists(options.cache, problem)) {
    octet::load_calibration_cache(options.cache);
  } else if (options.observe == 0) {
    throw Error(Error::Code::invalid_argument,
                "there is no calibration cache " + options.cache.string() +
                    ": octet build --int8 --calib-cache makes it, or octet.int8=observe:N");
  }
}

void set_context(const std::string& key, const std::string& value, Options& options) {
  if (key == "ep.context_enable") options.context_enabled = value == "1";
  if (key == "ep.context_embed_mode") options.context_embedded = value != "0";
  if (key == "ep.context_file_path") options.context_path = value;
}

}  // namespace

Options parse_options(const Entries& entries, const std::string& device) {
  Options options;
  options.device = device;
  Problems problems;
  Entries ordered = entries;
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return is_default(a.first) && !is_default(b.first);
  });
  for (const auto& [key, value] : ordered) {
    if (const auto name = own_name(key)) {
      set_own(*name, value, options, problems);
    } else {
      set_context(key, value, options);
    }
  }
  std::string text;
  for (const std::string& problem : problems) text += (text.empty() ? "" : "; ") + problem;
  if (!problems.empty()) throw Error(Error::Code::invalid_argument, text);
  if (options.threads == 0) options.threads = octet::usable_processors();
  options.streams = std::min(options.streams, options.threads);
  octet::device_info(options.device);  // throws for a device that there is not
  if (!options.cache.empty()) check_cache(options);
  return options;
}

Entries entries_of(const Host& host, const OrtSessionOptions* session) {
  OrtKeyValuePairs* pairs = nullptr;
  host.check(host.GetSessionOptionsConfigEntries(session, &pairs));
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  host.GetKeyValuePairs(pairs, &keys, &values, &count);
  Entries entries;
  for (size_t i = 0; i < count; ++i) entries.emplace_back(keys[i], values[i]);
  host.ReleaseKeyValuePairs(pairs);
  return entries;
}

}  // namespace octet_ort
