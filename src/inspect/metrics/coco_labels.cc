// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/bounded_json.h"
#include "core/types.h"
#include "data/preprocess.h"
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

// The parts of a path, the last first: those with the same end stand beside each other in a map. No character comes before what is between them.
constexpr char kBetween = '\0';

std::string key_of(const std::string& path) {
  std::string key;
  for (size_t end = path.size();;) {
    const size_t slash = end == 0 ? path.npos : path.rfind('/', end - 1);
    const size_t begin = slash == path.npos ? 0 : slash + 1;
    key += path.substr(begin, end - begin);
    if (slash == path.npos) return key;
    key += kBetween;
    end = slash;
  }
}

bool has_end(const std::string& key, const std::string& end) {
  return key.starts_with(end) && (key.size() == end.size() || key[end.size()] == kBetween);
}

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

// A fit that no input has settled yet follows from the size of the one that the image was put into.
Mapping mapping_of(f64 width, f64 height, const Preprocess& preprocess,
                   const Preprocess::Size& input) {
  using Fit = Preprocess::Fit;
  if (preprocess.crop || preprocess.resize_short > 0 || preprocess.fit == Fit::crop) {
    fail(Error::Code::unsupported,
         "boxes are not mapped through a crop, nor through a resize of the shorter side");
  }
  if (!preprocess.letterbox && preprocess.fit != Fit::letterbox)
    return {input.width / width, input.height / height};
  // In whole pixels, as the image itself was placed.
  const Preprocess::Size image{static_cast<int>(std::ceil(width)),
                               static_cast<int>(std::ceil(height))};
  const LetterboxPlace place =
      letterbox_place(preprocess.resize.value_or(image), input, preprocess.letterbox_align);
  return {place.width / width, place.height / height, static_cast<f64>(place.left),
          static_cast<f64>(place.top)};
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
    const std::string file_name = image.text("file_name");
    const auto [at, is_new] = labels.images_.emplace(key_of(file_name), std::move(read));
    if (!is_new) image.wrong("'{}' stands there twice", file_name);
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

// By as much of the end of its path as any image has.
const CocoLabels::Image* CocoLabels::find(const std::string& sample) const {
  std::string end = key_of(sample);
  for (;;) {
    const auto at = images_.lower_bound(end);
    if (at != images_.end() && has_end(at->first, end)) {
      const auto next = std::next(at);
      // One that is called just that is meant before those that lie in further folders.
      if (at->first != end && next != images_.end() && has_end(next->first, end)) {
        fail(Error::Code::invalid_argument,
             "the labels have several images whose path ends as that of '{}': which is meant is "
             "not clear",
             sample);
      }
      return &at->second;
    }
    const size_t shorter = end.rfind(kBetween);
    if (shorter == end.npos) return nullptr;
    end.resize(shorter);
  }
}

std::optional<std::vector<TrueBox>> CocoLabels::boxes(const std::string& sample,
                                                      const Preprocess& preprocess,
                                                      const Preprocess::Size& input) const {
  const Image* found = find(sample);
  if (found == nullptr) return std::nullopt;
  const Image& image = *found;
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
