// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "core/bounded_json.h"
#include "core/types.h"
#include "octet/detection.h"
#include "octet/input.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr u64 kMostLabelBytes = u64{1} << 30;
constexpr int kMostLabelDepth = 10;
constexpr s64 kMostId = s64{1} << 53;
constexpr f64 kMostSide = 1e6;
constexpr const char* kCocoExpected =
    "labels in COCO's format, with images, annotations and categories";

// The part of a path behind its folders.
std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::map<s64, int> classes_of(const JsonFields& file) {
  std::set<s64> ids;
  for (const Json& entry : file.list("categories")) {
    const JsonFields category{entry, file.file, kCocoExpected, "a category: "};
    category.check_object();
    if (!ids.insert(category.integer("id", 0, kMostId)).second)
      category.wrong("its id stands there twice");
  }
  std::map<s64, int> classes;
  for (const s64 id : ids) classes.emplace(id, static_cast<int>(classes.size()));
  return classes;
}

TrueBox box_of(const JsonFields& annotation) {
  const Json& numbers = annotation.list("bbox");
  if (numbers.size() != 4) annotation.wrong("'bbox' is not [left, top, width, height]");
  f64 v[4];
  for (size_t i = 0; i < 4; ++i) v[i] = annotation.number(numbers[i], "bbox");
  TrueBox box{v[0], v[1], v[0] + v[2], v[1] + v[3]};
  if (annotation.object.contains("iscrowd")) box.crowd = annotation.integer("iscrowd", 0, 1) == 1;
  return box;
}

// The way from an image's pixels to those of the input.
struct Mapping {
  f64 x = 1, y = 1, left = 0, top = 0;
};

Mapping mapping_of(f64 width, f64 height, const Preprocess& preprocess,
                   const Preprocess::Size& input) {
  if (preprocess.crop || preprocess.resize_short > 0) {
    fail(Error::Code::unsupported,
         "boxes are not mapped through a crop, nor through a resize of the shorter side");
  }
  Mapping mapping{input.width / width, input.height / height};
  if (!preprocess.letterbox) return mapping;
  mapping.x = mapping.y = std::min(mapping.x, mapping.y);
  if (preprocess.letterbox_align == Preprocess::Align::center) {
    mapping.left = (input.width - width * mapping.x) / 2;
    mapping.top = (input.height - height * mapping.y) / 2;
  }
  return mapping;
}

}  // namespace

CocoLabels CocoLabels::read(const std::filesystem::path& path) {
  const std::string name = path.string(), text = read_text(path, kMostLabelBytes);
  const OrderedJsonTree tree = parse_bounded_json(text, name, kMostLabelDepth);
  const JsonFields file{tree.value, name, kCocoExpected};
  file.check_object();
  const std::map<s64, int> classes = classes_of(file);
  CocoLabels labels;
  std::map<s64, Image*> by_id;
  for (const Json& entry : file.list("images")) {
    const JsonFields image{entry, name, kCocoExpected, "an image: "};
    image.check_object();
    Image read{
        image.number(image.at("width"), "width"), image.number(image.at("height"), "height"), {}};
    if (!(read.width > 0 && read.height > 0 && read.width <= kMostSide && read.height <= kMostSide))
      image.wrong("it is {} x {} pixels", read.width, read.height);
    const auto [at, is_new] =
        labels.images_.emplace(last_part(image.text("file_name")), std::move(read));
    if (!is_new) image.wrong("'{}' stands there twice", at->first);
    if (!by_id.emplace(image.integer("id", 0, kMostId), &at->second).second)
      image.wrong("its id stands there twice");
  }
  for (const Json& entry : file.list("annotations")) {
    const JsonFields annotation{entry, name, kCocoExpected, "an annotation: "};
    annotation.check_object();
    const auto image = by_id.find(annotation.integer("image_id", 0, kMostId));
    const auto label = classes.find(annotation.integer("category_id", 0, kMostId));
    if (image == by_id.end()) annotation.wrong("its image is none of the file's");
    if (label == classes.end()) annotation.wrong("its category is none of the file's");
    TrueBox box = box_of(annotation);
    box.label = label->second;
    image->second->boxes.push_back(box);
  }
  return labels;
}

std::optional<std::vector<TrueBox>> CocoLabels::boxes(const std::string& sample,
                                                      const Preprocess& preprocess,
                                                      const Preprocess::Size& input) const {
  const auto at = images_.find(last_part(sample));
  if (at == images_.end()) return std::nullopt;
  const Image& image = at->second;
  const Mapping to = mapping_of(image.width, image.height, preprocess, input);
  std::vector<TrueBox> boxes = image.boxes;
  for (TrueBox& box : boxes) {
    box.left = box.left * to.x + to.left;
    box.right = box.right * to.x + to.left;
    box.top = box.top * to.y + to.top;
    box.bottom = box.bottom * to.y + to.top;
  }
  return boxes;
}

}  // namespace octet
