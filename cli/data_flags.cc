// SPDX-License-Identifier: Apache-2.0
#include "cli/data_flags.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/fail.h"

namespace octet::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kMaxTextBytes = 1 << 20;

// Flags as the JSON object that a --preprocess file holds, so that one parser judges both.
Json to_object(const PreprocessFlags& flags) {
  Json object = Json::object();
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  };
  set("resize", flags.resize);
  set("crop", flags.crop);
  set("letterbox", flags.letterbox);
  set("color", flags.color);
  set("layout", flags.layout);
  if (flags.scale) object["scale"] = *flags.scale;
  if (!flags.mean.empty()) object["mean"] = flags.mean;
  if (!flags.std.empty()) object["std"] = flags.std;
  return object;
}

}  // namespace

void add_preprocess_flags(CLI::App& app, PreprocessFlags& flags) {
  const char* group = "Images to tensors";
  const auto add = [&](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->group(group);
  };
  add("--preprocess", flags.file, "JSON file with the keys below; flags override it")
      ->type_name("FILE");
  add("--resize", flags.resize, "scale to WxH, or so that the shorter side is SHORT pixels")
      ->type_name("WxH|SHORT");
  add("--crop", flags.crop, "cut out the centre")->type_name("WxH");
  add("--letterbox", flags.letterbox, "scale to fit inside, pad right and bottom with FILL [114]")
      ->type_name("WxH[:FILL]");
  add("--color", flags.color, "channel order")->type_name("rgb|bgr|gray");
  add("--scale", flags.scale, "divide pixel values (0..255) by this")->type_name("X");
  add("--mean", flags.mean, "then subtract: one value, or one a channel")
      ->type_name("A,B,C")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--std", flags.std, "then divide: one value, or one a channel")
      ->type_name("A,B,C")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--layout", flags.layout, "order of the model's input dimensions")->type_name("nchw|nhwc");
}

std::optional<Preprocess> resolve(const PreprocessFlags& flags,
                                  const std::optional<Preprocess>& remembered) {
  std::optional<Preprocess> base = remembered;
  if (!flags.file.empty()) base = preprocess_from_json(read_text_file(flags.file), flags.file);
  const Json overrides = to_object(flags);
  if (overrides.empty()) return base;
  Json object = base ? Json::parse(to_json(*base)) : Json::object();
  // One geometry replaces another: --letterbox on top of a remembered --resize means letterbox alone.
  if (overrides.contains("letterbox")) object.erase("resize"), object.erase("crop");
  if (overrides.contains("resize") || overrides.contains("crop")) object.erase("letterbox");
  object.update(overrides);
  return preprocess_from_json(object.dump(), "command line");
}

CLI::Option* add_data_flags(CLI::App& app, DataFlags& flags, const std::string& name,
                            const std::string& help) {
  CLI::Option* option = app.add_option(name, flags.data, help)->type_name("DIR|FILE");
  const std::string max_name = name == "--calib" ? "--max-calib" : "--max-samples";
  app.add_option(max_name, flags.max_samples, "use at most N samples [0: all]")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--skip-bad", flags.skip_bad, "count and name unreadable files instead of failing");
  add_preprocess_flags(app, flags.preprocess);
  return option;
}

DataOptions data_options(const DataFlags& flags, const std::optional<Preprocess>& remembered) {
  DataOptions options;
  options.data = flags.data;
  options.preprocess = resolve(flags.preprocess, remembered);
  options.max_samples = flags.max_samples;
  options.skip_bad = flags.skip_bad;
  return options;
}

std::string read_text_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) fail(Error::Code::io, "{}: {}", path.string(), error.message());
  if (size > kMaxTextBytes) {
    fail(Error::Code::invalid_argument, "{}: {} bytes; expected a text file of at most 1 MB",
         path.string(), size);
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) fail(Error::Code::io, "{}: could not be read", path.string());
  return text;
}

}  // namespace octet::cli
