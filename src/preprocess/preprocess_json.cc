// SPDX-License-Identifier: Apache-2.0
// Preprocess <-> JSON: the file of --preprocess, and the form in which an engine remembers it.
#include "core/bounded_json.h"
#include "octet/preprocess.h"
#include "preprocess/preprocess_text.h"

namespace octet {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 4;
constexpr size_t kMaxBytes = 1 << 16;

f32 read_number(const json& value, const std::string& what) {
  if (!value.is_number()) {
    fail(Error::Code::invalid_argument, "{}: expected a number, got {}", what, value.dump());
  }
  return value.get<f32>();
}

const std::string& read_string(const json& value, const std::string& what, const char* example) {
  if (!value.is_string()) {
    fail(Error::Code::invalid_argument, "{}: expected a string such as \"{}\", got {}", what,
         example, value.dump());
  }
  return value.get_ref<const std::string&>();
}

std::vector<f32> read_numbers(const json& value, const std::string& what) {
  if (value.is_string()) return parse_floats(value.get_ref<const std::string&>(), what);
  if (!value.is_array()) return {read_number(value, what)};
  std::vector<f32> numbers;
  for (const json& element : value) numbers.push_back(read_number(element, what));
  return numbers;
}

int read_side(const json& value, const std::string& what) {
  // Checked as s64 so that 2^32 + 1 does not become 1.
  if (!value.is_number_integer() || value.get<s64>() < 0 || value.get<s64>() > 65535) {
    fail(Error::Code::invalid_argument, "{}: expected a whole number of 0 to 65535, got {}", what,
         value.dump());
  }
  return value.get<int>();
}

struct Key {
  const char* name;
  void (*read)(const json&, const std::string& what, Preprocess*);
};

void no_fit(Preprocess* p) { p->fit = Preprocess::Fit::as_said; }

constexpr Key kKeys[] = {
    {"preset", [](const json&, const std::string&, Preprocess*) {}},  // read before the others
    {"orientation",
     [](const json& v, const std::string& what, Preprocess* p) {
       p->orientation = parse_orientation(read_string(v, what, "exif"), what);
     }},
    {"color", [](const json& v, const std::string& what,
                 Preprocess* p) { p->color = parse_color(read_string(v, what, "rgb"), what); }},
    {"resize",
     [](const json& v, const std::string& what, Preprocess* p) {
       no_fit(p);
       if (v.is_number()) {
         p->resize_short = read_side(v, what);
       } else {
         parse_resize(read_string(v, what, "256"), what, p);
       }
     }},
    {"resize_short",
     [](const json& v, const std::string& what, Preprocess* p) {
       no_fit(p);
       p->resize_short = read_side(v, what);
     }},
    {"letterbox",
     [](const json& v, const std::string& what, Preprocess* p) {
       no_fit(p);
       parse_letterbox(read_string(v, what, "416x416:114"), what, p);
     }},
    {"letterbox_align",
     [](const json& v, const std::string& what, Preprocess* p) {
       p->letterbox_align = parse_align(read_string(v, what, "center"), what);
     }},
    {"letterbox_fill", [](const json& v, const std::string& what,
                          Preprocess* p) { p->letterbox_fill = read_number(v, what); }},
    {"crop",
     [](const json& v, const std::string& what, Preprocess* p) {
       no_fit(p);
       p->crop = parse_size(read_string(v, what, "224x224"), what);
     }},
    {"fit", [](const json& v, const std::string& what,
               Preprocess* p) { p->fit = parse_fit(read_string(v, what, "crop"), what); }},
    {"crop_share", [](const json& v, const std::string& what,
                      Preprocess* p) { p->crop_share = read_number(v, what); }},
    {"scale", [](const json& v, const std::string& what,
                 Preprocess* p) { p->scale = read_number(v, what); }},
    {"mean", [](const json& v, const std::string& what,
                Preprocess* p) { p->mean = read_numbers(v, what); }},
    {"std",
     [](const json& v, const std::string& what, Preprocess* p) { p->std = read_numbers(v, what); }},
    {"layout", [](const json& v, const std::string& what,
                  Preprocess* p) { p->layout = read_string(v, what, "nchw"); }},
};

OrderedJsonTree parse(const std::string& text, const std::string& file_name) {
  if (text.size() > kMaxBytes) {
    fail(Error::Code::invalid_argument, "'{}': {} bytes, the limit for this file is {}", file_name,
         text.size(), kMaxBytes);
  }
  return parse_bounded_json(text, "'" + file_name + "'", kMaxDepth);
}

const Preprocess& preset_called(const json& name, const std::string& what) {
  const std::string& text = read_string(name, what, "torchvision");
  const PreprocessPreset* preset = find_preprocess_preset(text);
  if (preset == nullptr) {
    fail(Error::Code::invalid_argument, "{}: no preset is called '{}'; there are {}", what, text,
         preset_names());
  }
  return preset->preprocess;
}

// The shortest decimal that reads back as this f32: 0.485, not 0.48500001430511475.
f64 short_decimal(f32 value) { return std::stod(fmt::format("{}", value)); }

json short_decimals(const std::vector<f32>& values) {
  json list = json::array();
  for (f32 v : values) list.push_back(short_decimal(v));
  return list;
}

}  // namespace

Preprocess preprocess_from_json(const std::string& text, const std::string& file_name) {
  const OrderedJsonTree tree = parse(text, file_name);
  const json& object = tree.value;
  if (!object.is_object()) {
    fail(Error::Code::invalid_argument, "'{}': expected a JSON object", file_name);
  }
  Preprocess preprocess;
  if (object.contains("preset"))
    preprocess = preset_called(object["preset"], fmt::format("'{}': key 'preset'", file_name));
  for (const auto& [name, value] : object.items()) {
    const Key* key = nullptr;
    for (const Key& k : kKeys) key = name == k.name ? &k : key;
    if (key == nullptr) {
      std::string known;
      for (const Key& k : kKeys) known += fmt::format("{}{}", known.empty() ? "" : ", ", k.name);
      fail(Error::Code::invalid_argument, "'{}': unknown key '{}'; known keys: {}", file_name, name,
           known);
    }
    key->read(value, fmt::format("'{}': key '{}'", file_name, name), &preprocess);
  }
  check_preprocess(preprocess, fmt::format("'{}'", file_name));
  return preprocess;
}

std::string to_json(const Preprocess& preprocess) {
  const Preprocess& p = preprocess;
  JsonTree<json> tree(json::object());
  json& object = tree.value;
  object["orientation"] = orientation_name(p.orientation);
  object["color"] = color_name(p.color);
  if (p.resize_short > 0) object["resize_short"] = p.resize_short;
  if (p.resize) object["resize"] = to_text(*p.resize);
  if (p.letterbox) object["letterbox"] = to_text(*p.letterbox);
  if (p.letterbox || p.fit == Preprocess::Fit::letterbox ||
      p.letterbox_align != Preprocess::Align::corner)
    object["letterbox_align"] = align_name(p.letterbox_align);
  if (p.letterbox_fill != Preprocess{}.letterbox_fill) {
    object["letterbox_fill"] = short_decimal(p.letterbox_fill);
  }
  if (p.crop) object["crop"] = to_text(*p.crop);
  object["scale"] = short_decimal(p.scale);
  if (!p.mean.empty()) object["mean"] = short_decimals(p.mean);
  if (!p.std.empty()) object["std"] = short_decimals(p.std);
  object["layout"] = p.layout;
  if (p.fit != Preprocess::Fit::as_said) object["fit"] = fit_name(p.fit);
  if (p.fit == Preprocess::Fit::crop || p.crop_share != Preprocess{}.crop_share)
    object["crop_share"] = short_decimal(p.crop_share);
  return object.dump();
}

}  // namespace octet
