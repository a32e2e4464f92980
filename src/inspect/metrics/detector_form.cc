// SPDX-License-Identifier: Apache-2.0
#include "inspect/metrics/detector_form.h"

#include <algorithm>
#include <set>

#include "core/bounded_json.h"
#include "octet/closest.h"

namespace octet {

const std::array<DetectorPreset, 10> kDetectorPresets = {{
    {"yolox",
     R"({"boxes": {"output": 0, "count": 4}, "objectness": {"output": 0, "first": 4, "count": 1},
      "classes": {"output": 0, "first": 5}, "box": "grid", "strides": [8, 16, 32]})"},
    {"yolov5",
     R"({"boxes": {"output": 0, "count": 4}, "objectness": {"output": 0, "first": 4, "count": 1},
      "classes": {"output": 0, "first": 5}, "box": "center"})"},
    {"yolov8",
     R"({"layout": "columns", "boxes": {"output": 0, "count": 4}, "classes": {"output": 0, "first": 4},
      "box": "center"})"},
    {"retinaface",
     R"({"boxes": {"output": "loc"}, "classes": {"output": "conf"}, "background": true,
      "box": "anchors", "strides": [8, 16, 32], "offset": 0.5, "min_score": 0.5,
      "anchors": [[[16, 16], [32, 32]], [[64, 64], [128, 128]], [[256, 256], [512, 512]]]})"},
    {"ultraface",
     R"({"boxes": {"output": "boxes"}, "classes": {"output": "scores"}, "background": true,
      "box": "corners", "units": "shares", "min_score": 0.7})"},
    {"yunet",
     R"({"boxes": {"output": ["bbox_8", "bbox_16", "bbox_32"]}, "classes": {"output": ["cls_8", "cls_16", "cls_32"]},
      "objectness": {"output": ["obj_8", "obj_16", "obj_32"]}, "box": "grid", "score": "root",
      "strides": [8, 16, 32], "min_score": 0.6})"},
    {"scrfd",
     R"({"classes": {"output": [0, 1, 2]}, "boxes": {"output": [3, 4, 5]}, "box": "distances", "per_cell": 2,
      "strides": [8, 16, 32], "min_score": 0.5, "overlap": 0.4})"},
    {"nanodet",
     R"({"classes": {"output": 0, "count": 80}, "boxes": {"output": 0, "first": 80, "count": 32}, "box": "distances",
      "bins": 8, "strides": [8, 16, 32, 64], "min_score": 0.35, "overlap": 0.6})"},
    {"fastestdet",
     R"({"layout": "maps", "objectness": {"output": 0, "count": 1}, "boxes": {"output": 0, "first": 1, "count": 4},
      "classes": {"output": 0, "first": 5}, "box": "bounded", "strides": [16], "powers": [0.4, 0.6],
      "min_score": 0.65})"},
    {"yolov10",
     R"({"boxes": {"output": 0, "count": 4}, "classes": {"output": 0, "first": 4, "count": 1},
      "labels": {"output": 0, "first": 5, "count": 1}, "box": "corners", "overlap": 1})"},
}};

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormExpected = "a detector's description (docs/detectors.md)";
constexpr int kMostFormDepth = 6;
constexpr s64 kMostNumbers = 1 << 20, kMostStride = 1 << 12;
constexpr s64 kMostBins = 1 << 10;
constexpr f64 kMostPixels = 1e6, kMostPower = 16;
constexpr size_t kMostLevels = 16, kMostAnchors = 64;

class FormReader {
 public:
  FormReader(const Json& object, const std::string& file) : fields_{object, file, kFormExpected} {}

  DetectorForm read() {
    fields_.check_object();
    check_keys();
    DetectorForm form;
    form.layout = static_cast<DetectorLayout>(word("layout", {"rows", "columns", "maps"}));
    form.boxes = field("boxes");
    form.classes = field("classes");
    if (has("objectness")) form.objectness = field("objectness");
    if (has("labels")) form.labels = field("labels");
    form.box = static_cast<BoxForm>(
        word("box", {"corners", "center", "grid", "anchors", "distances", "bounded"}));
    form.shares = word("units", {"pixels", "shares"}) == 1;
    form.activation = static_cast<ScoreForm>(word("activation", {"none", "sigmoid", "softmax"}));
    read_powers(form);
    form.background = background();
    read_levels(form);
    if (has("per_cell")) form.per_cell = fields_.integer("per_cell", 1, kMostAnchors);
    if (has("bins")) form.bins = fields_.integer("bins", 1, kMostBins);
    if (form.bins > 1 && form.box != BoxForm::distances)
      fields_.wrong("'bins' are of 'distances', and 'box' is another");
    if (form.per_cell > 1 && form.box != BoxForm::distances && form.box != BoxForm::grid)
      fields_.wrong("'per_cell' is of 'grid' and 'distances', and 'box' is another");
    form.offset = number("offset", 0, 0, 1);
    form.least_score = number("min_score", form.least_score, 0, 1);
    form.overlap = number("overlap", form.overlap, 0, 1);
    if (form.overlap == 0) fields_.wrong("'overlap' is 0, and each box has that with any other");
    if (has("most")) form.most = fields_.integer("most", 1, 10'000);
    return form;
  }

 private:
  bool has(const char* key) const { return fields_.object.contains(key); }

  void check_keys() const {
    static const std::vector<std::string> known = {
        "layout",     "boxes",  "classes",   "objectness", "labels",  "box",      "units",
        "activation", "score",  "powers",    "background", "strides", "per_cell", "bins",
        "anchors",    "offset", "variances", "min_score",  "overlap", "most"};
    for (const auto& entry : fields_.object.items()) {
      if (std::ranges::find(known, entry.key()) == known.end())
        fields_.wrong("'{}' is not known{}", entry.key(), did_you_mean(entry.key(), known));
    }
  }

  size_t word(const char* key, const std::vector<std::string>& words) const {
    if (!has(key)) return 0;
    const std::string text = fields_.text(key);
    const auto at = std::ranges::find(words, text);
    if (at == words.end())
      fields_.wrong("'{}' is '{}', which is none of {}", key, text, fmt::join(words, ", "));
    return static_cast<size_t>(at - words.begin());
  }

  // True: the first class.
  Background background() const {
    if (!has("background")) return Background::none;
    const Json& value = fields_.at("background");
    if (value.is_boolean()) return value.get<bool>() ? Background::first : Background::none;
    if (value != "first" && value != "last")
      fields_.wrong("'background' is neither true, false, \"first\" nor \"last\"");
    return value == "first" ? Background::first : Background::last;
  }

  // "root" is the root of the product.
  void read_powers(DetectorForm& form) const {
    if (word("score", {"product", "root"}) == 1) form.powers = {0.5, 0.5};
    if (!has("powers")) return;
    if (has("score")) fields_.wrong("'score' and 'powers' say the same: give one of them");
    const Json& list = fields_.list("powers");
    if (list.size() != 2) fields_.wrong("'powers' are two numbers, of the class and of objectness");
    for (size_t i = 0; i < 2; ++i) {
      form.powers[i] = fields_.number(list[i], "powers");
      if (!(form.powers[i] >= 0 && form.powers[i] <= kMostPower))
        fields_.wrong("'powers' are not from 0 to {}", kMostPower);
    }
  }

  f64 number(const char* key, f64 without, f64 least, f64 most) const {
    if (!has(key)) return without;
    const f64 value = fields_.number(fields_.at(key), key);
    if (value < least || value > most) fields_.wrong("'{}' is not from {} to {}", key, least, most);
    return value;
  }

  DetectorOutput output(const Json& value, const char* key) const {
    if (value.is_string()) return {value.get<std::string>(), 0};
    if (value.is_number_integer() && value >= 0 && value < 256) return {{}, value.get<int>()};
    fields_.wrong("'{}': an output is a name, or a number from 0", key);
  }

  DetectorField field(const char* key) const {
    const JsonFields inner{fields_.at(key), fields_.file, kFormExpected,
                           fmt::format("'{}': ", key)};
    inner.check_object();
    for (const auto& entry : inner.object.items()) {
      if (entry.key() != "output" && entry.key() != "first" && entry.key() != "count")
        inner.wrong("'{}' is not known; it has output, first and count", entry.key());
    }
    DetectorField result;
    const Json& outputs = inner.at("output");
    if (outputs.is_array()) {
      for (const Json& one : outputs) result.outputs.push_back(output(one, key));
    } else {
      result.outputs.push_back(output(outputs, key));
    }
    if (result.outputs.empty() || result.outputs.size() > kMostLevels)
      inner.wrong("it has {} outputs, which is not from 1 to {}", result.outputs.size(),
                  kMostLevels);
    if (inner.object.contains("first")) result.first = inner.integer("first", 0, kMostNumbers);
    if (inner.object.contains("count")) result.count = inner.integer("count", 1, kMostNumbers);
    return result;
  }

  std::pair<f64, f64> anchor(const Json& value) const {
    if (!value.is_array() || value.size() != 2)
      fields_.wrong("an anchor is [width, height] in pixels");
    const f64 width = fields_.number(value[0], "anchors"),
              height = fields_.number(value[1], "anchors");
    if (!(width > 0 && height > 0 && width <= kMostPixels && height <= kMostPixels))
      fields_.wrong("an anchor of {} x {} pixels", width, height);
    return {width, height};
  }

  void read_levels(DetectorForm& form) const {
    if (has("strides")) {
      for (const Json& stride : fields_.list("strides")) {
        const JsonFields one{Json{{"stride", stride}}, fields_.file, kFormExpected};
        form.strides.push_back(one.integer("stride", 1, kMostStride));
      }
    }
    if (has("anchors")) {
      for (const Json& level : fields_.list("anchors")) {
        if (!level.is_array() || level.size() > kMostAnchors)
          fields_.wrong("'anchors' has no list of up to {} for each stride", kMostAnchors);
        form.anchors.emplace_back();
        for (const Json& one : level) form.anchors.back().push_back(anchor(one));
      }
    }
    if (has("variances")) {
      const Json& list = fields_.list("variances");
      if (list.size() != 2)
        fields_.wrong("'variances' are two numbers, of the place and of the size");
      for (size_t i = 0; i < 2; ++i) form.variances[i] = fields_.number(list[i], "variances");
    }
    const bool placed = form.box != BoxForm::corners && form.box != BoxForm::center;
    if (placed && (form.strides.empty() || form.strides.size() > kMostLevels))
      fields_.wrong("boxes on a grid need 'strides', from 1 to {}", kMostLevels);
    if (form.box == BoxForm::anchors && form.anchors.size() != form.strides.size())
      fields_.wrong("there are {} strides and anchors for {}", form.strides.size(),
                    form.anchors.size());
  }

  const JsonFields fields_;
};

}  // namespace

DetectorForm detector_form(std::string_view text, const std::string& file) {
  const OrderedJsonTree tree = parse_bounded_json(text, file, kMostFormDepth);
  return FormReader(tree.value, file).read();
}

}  // namespace octet
