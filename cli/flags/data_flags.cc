// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/data_flags.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/fail.h"
#include "cli/flags/choice.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "octet/closest.h"

namespace octet::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxTextBytes = 1 << 20;

// Flags as the JSON object that a --preprocess file holds, so that one parser judges both.
Json to_object(const PreprocessFlags& flags) {
  Json object = Json::object();
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  };
  set("resize", flags.resize);
  set("crop", flags.crop);
  set("letterbox", flags.letterbox);
  set("orientation", flags.orientation);
  set("color", flags.color);
  set("layout", flags.layout);
  if (flags.scale) object["scale"] = *flags.scale;
  if (!flags.mean.empty()) object["mean"] = flags.mean;
  if (!flags.std.empty()) object["std"] = flags.std;
  return object;
}

constexpr float kPixelScale = 255;

// Mean and std as they are written for pixels of 0 to 1: none beyond 1, one at least a fraction.
bool of_unit_pixels(const Preprocess& preprocess) {
  bool within = true, fraction = false;
  const auto look = [&](float value, bool below) {
    within = within && below;
    fraction = fraction || (value != 0 && value != 1);
  };
  for (const float mean : preprocess.mean) look(mean, std::abs(mean) < 1);
  for (const float std : preprocess.std) look(std, std <= 1);
  return within && fraction;
}

}  // namespace

void add_preprocess_flags(CLI::App& app, PreprocessFlags& flags) {
  const char* group = "Images to tensors";
  const auto add = [&](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->group(group);
  };
  add("--preprocess", flags.file,
      "what a family of models takes (torchvision, ultralytics, yolox, keras, caffe ...: see "
      "docs/cli.md), or a JSON file with the keys below; flags override it")
      ->type_name("NAME|FILE");
  add("--resize", flags.resize, "scale to WxH, or so that the shorter side is SHORT pixels")
      ->type_name("WxH|SHORT");
  add("--crop", flags.crop, "cut out the centre")->type_name("WxH");
  add("--letterbox", flags.letterbox,
      "scale to fit inside and pad with FILL [114]: the image in the corner at the top left, as "
      "YOLOX "
      "[corner], or in the center, as Ultralytics")
      ->type_name("WxH[:FILL][:corner|center]");
  add("--orientation", flags.orientation,
      "turn images as their EXIF data say [exif], or take them as they are stored")
      ->type_name("exif|stored")
      ->check(one_of({"exif", "stored"}));
  add("--color", flags.color, "channel order")
      ->type_name("rgb|bgr|gray")
      ->check(one_of({"rgb", "bgr", "gray"}));
  add("--scale", flags.scale, "divide pixel values (0..255) by this")->type_name("X");
  add("--mean", flags.mean, "then subtract: one value, or one a channel")
      ->type_name("A,B,C")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--std", flags.std, "then divide: one value, or one a channel")
      ->type_name("A,B,C")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--layout", flags.layout, "order of the model's input dimensions")
      ->type_name("nchw|nhwc")
      ->check(one_of({"nchw", "nhwc"}));
}

bool any_given(const PreprocessFlags& flags) {
  return !flags.file.empty() || !to_object(flags).empty();
}

namespace {

// What --preprocess names.
Resolved named(const std::string& name) {
  if (const PreprocessPreset* preset = find_preprocess_preset(name))
    return {preset->preprocess, true, "--preprocess " + name};
  std::error_code error;
  if (!std::filesystem::exists(name, error)) {
    std::vector<std::string> names;
    for (const PreprocessPreset& preset : preprocess_presets()) names.emplace_back(preset.name);
    fail(Error::Code::invalid_argument,
         "--preprocess {}: no such file, and no preset; those are {}{}", name, joined(names),
         did_you_mean(name, names));
  }
  const std::string text = read_text_file(name);
  const Preprocess preprocess = preprocess_from_json(text, name);
  const Json keys = Json::parse(text);
  return {preprocess, keys.contains("scale") || keys.contains("preset"), name};
}

// One geometry replaces another: --letterbox on top of a remembered --resize means letterbox alone.
void drop_replaced(const Json& overrides, Json& object) {
  const bool boxes = overrides.contains("letterbox");
  const bool sizes = overrides.contains("resize") || overrides.contains("crop");
  if (boxes) object.erase("resize"), object.erase("crop");
  if (sizes) object.erase("letterbox");
  if (boxes || sizes) object.erase("letterbox_align");
  if (boxes || sizes) object.erase("fit"), object.erase("crop_share");
}

}  // namespace

Resolved resolve(const PreprocessFlags& flags, const std::optional<Preprocess>& remembered) {
  Resolved result{remembered, remembered.has_value(), remembered ? "the engine" : ""};
  if (!flags.file.empty()) result = named(flags.file);
  const Json overrides = to_object(flags);
  result.scale_said = result.scale_said || overrides.contains("scale");
  if (!overrides.empty()) {
    Json object = result.preprocess ? Json::parse(to_json(*result.preprocess)) : Json::object();
    drop_replaced(overrides, object);
    object.update(overrides);
    result.preprocess = preprocess_from_json(object.dump(), "command line");
    result.from = result.from.empty() ? "the flags" : "the flags over " + result.from;
  }
  if (!result.scale_said && result.preprocess && of_unit_pixels(*result.preprocess)) {
    result.preprocess->scale = kPixelScale;
    print_warning(
        "mean and std are those of pixels of 0 to 1, and no scale is given: pixels are divided by "
        "255 first, as --scale 255 says; --scale 1 leaves them as they are");
  }
  return result;
}

CLI::Option* add_data_flags(CLI::App& app, DataFlags& flags, const std::string& name,
                            const std::string& help) {
  CLI::Option* option = app.add_option(name, flags.data, help)->type_name("DIR|FILE");
  const std::string otherwise =
      flags.max_samples > 0 ? std::to_string(flags.max_samples) + "; " : "";
  app.add_option("--max-samples", flags.max_samples,
                 "use at most N samples [" + otherwise + "0: all]")
      ->type_name("N")
      ->check(from(int64_t{0}));
  app.add_flag("--skip-bad", flags.skip_bad, "count and name unreadable files instead of failing");
  add_preprocess_flags(app, flags.preprocess);
  add_sequence_flags(app, flags.sequences);
  return option;
}

void add_sequence_flags(CLI::App& app, SequenceFlags& flags) {
  app.add_option("--sample-axis", flags.axes,
                 "the axis along which an input's samples lie, where that is not the first or the "
                 "only open one; repeatable")
      ->type_name("NAME:AXIS")
      ->allow_extra_args(false);
  app.add_option(
         "--state", flags.states,
         "each step of a sequence (a row of a file) takes this output of the step before as "
         "this input; repeatable")
      ->type_name("OUTPUT:INPUT")
      ->allow_extra_args(false);
}

void apply(const SequenceFlags& flags, DataOptions& options) {
  for (const std::string& text : flags.axes) {
    const size_t colon = text.rfind(':');
    int axis = 0;
    const char* const begin = text.data() + (colon == text.npos ? 0 : colon + 1);
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(begin, end, axis);
    if (colon == text.npos || colon == 0 || error != std::errc() || rest != end || axis < 0) {
      fail(Error::Code::invalid_argument,
           "--sample-axis {}: expected NAME:AXIS, for example state:1", text);
    }
    options.sample_axes[text.substr(0, colon)] = axis;
  }
  for (const std::string& text : flags.states) {
    const size_t colon = text.find(':');
    if (colon == text.npos || colon == 0 || colon + 1 == text.size()) {
      fail(Error::Code::invalid_argument,
           "--state {}: expected OUTPUT:INPUT, for example stateN:state", text);
    }
    options.states.push_back({text.substr(0, colon), text.substr(colon + 1)});
  }
}

DataOptions data_options(const DataFlags& flags, const std::optional<Preprocess>& remembered) {
  DataOptions options;
  options.data = readable(flags.data);
  const Resolved resolved = resolve(flags.preprocess, remembered);
  options.preprocess = resolved.preprocess;
  options.preprocess_from = resolved.from;
  // Arrays are what they are, unless this command says what to do with them.
  options.prepared_arrays = !any_given(flags.preprocess);
  options.raw_pixels = resolved.scale_said;
  options.max_samples = flags.max_samples;
  options.skip_bad = flags.skip_bad;
  apply(flags.sequences, options);
  return options;
}

std::string read_text_file(const std::filesystem::path& path) {
  return read_text(path, kMaxTextBytes);
}

}  // namespace octet::cli
