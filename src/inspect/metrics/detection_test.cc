// SPDX-License-Identifier: Apache-2.0
#include "octet/detection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/error_testing.h"
#include "core/types.h"
#include "octet/output.h"

namespace octet {
namespace {

using test::expect_error;

// The same numbers in any language.
class Numbers {
 public:
  int next(int below) {
    state_ = (state_ * 1103515245 + 12345) % (u64{1} << 31);
    return static_cast<int>((state_ >> 8) % static_cast<u64>(below));
  }

 private:
  u64 state_ = 12345;
};

struct Scenario {
  std::vector<std::vector<DetectedBox>> found;
  std::vector<std::vector<TrueBox>> truth;

  Scenario(int images, int classes, bool crowds) {
    Numbers numbers;
    for (int i = 0; i < images; ++i) {
      found.emplace_back();
      truth.emplace_back();
      const int count = numbers.next(8);
      for (int t = 0; t < count; ++t) add_true(numbers, classes, crowds);
      const int wrong = numbers.next(4);
      for (int d = 0; d < wrong; ++d) {
        const int label = numbers.next(classes);
        const int x = numbers.next(200), y = numbers.next(200);
        const int width = 8 + numbers.next(60), height = 8 + numbers.next(60);
        add_found(numbers, label, {x, y, width, height});
      }
    }
  }

 private:
  struct Place {
    int x, y, width, height;
  };

  void add_true(Numbers& numbers, int classes, bool crowds) {
    Place at{};
    at.x = numbers.next(200);
    at.y = numbers.next(200);
    at.width = 8 + numbers.next(60);
    at.height = 8 + numbers.next(60);
    const int label = numbers.next(classes);
    const bool crowd = crowds && numbers.next(6) == 0;
    truth.back().push_back({double(at.x), double(at.y), double(at.x + at.width),
                            double(at.y + at.height), label, crowd});
    const int copies = numbers.next(3);
    for (int c = 0; c < copies; ++c) {
      Place near = at;
      near.x += numbers.next(7) - 3;
      near.y += numbers.next(7) - 3;
      near.width = std::max(1, near.width + numbers.next(7) - 3);
      near.height = std::max(1, near.height + numbers.next(7) - 3);
      const bool same = numbers.next(8) != 0;
      const int other = same ? label : numbers.next(classes);
      add_found(numbers, other, near);
    }
  }
  void add_found(Numbers& numbers, int label, const Place& at) {
    const double score = (1 + numbers.next(64)) / 64.0;
    found.back().push_back({double(at.x), double(at.y), double(at.x + at.width),
                            double(at.y + at.height), score, label});
  }
};

// What pycocotools 2.0 says of the same boxes: stats[0] and stats[1] of COCOeval. Sums in another order differ in the last bits.
TEST(MeanPrecision, IsThatOfPycocotools) {
  struct Case {
    int images, classes;
    bool crowds;
    double map, map50;
  };
  for (const Case& c : {Case{12, 3, false, 0.29119142627215916, 0.4913623857083993},
                        Case{40, 5, true, 0.2216513357993063, 0.4122577749346934},
                        Case{1, 1, false, 0.31495049504950495, 0.5980198019801979},
                        Case{200, 2, true, 0.18738998397096768, 0.36889676247455866}}) {
    const Scenario scenario(c.images, c.classes, c.crowds);
    const MeanPrecision got = mean_precision(scenario.found, scenario.truth);
    EXPECT_NEAR(got.map, c.map, 1e-13) << c.images;
    EXPECT_NEAR(got.map50, c.map50, 1e-13) << c.images;
  }
}

TEST(MeanPrecision, OfNothing) {
  EXPECT_EQ(mean_precision({}, {}).map, 0);
  const std::vector<std::vector<DetectedBox>> found = {{{0, 0, 8, 8, 0.5, 0}}};
  const std::vector<std::vector<TrueBox>> crowd = {{{0, 0, 8, 8, 0, true}}}, none = {{}};
  EXPECT_EQ(mean_precision(found, none).map, 0);
  EXPECT_EQ(mean_precision(found, crowd).boxes, 0);
}

// Not right, and no other box is taken for its sake.
TEST(MeanPrecision, OfBoxesThatAreNoNumbers) {
  const std::vector<std::vector<TrueBox>> truth = {{{0, 0, 8, 8, 0, false}}};
  const std::vector<std::vector<DetectedBox>> none = {{{NAN, NAN, NAN, NAN, 0.9, 0}}},
                                              half = {{{0, 0, 8, NAN, 0.9, 0}}},
                                              endless = {{{0, 0, INFINITY, INFINITY, 0.9, 0}}};
  for (const auto& found : {none, half, endless}) {
    EXPECT_EQ(mean_precision(found, truth).map, 0);
    EXPECT_EQ(same_boxes(found, found), 0);
  }
}

TEST(SameBoxes, PairsOnceAndByClass) {
  const std::vector<std::vector<DetectedBox>> one = {
      {{0, 0, 10, 10, 0.9, 0}, {20, 20, 30, 30, 0.8, 1}, {50, 50, 60, 60, 0.7, 0}}};
  EXPECT_EQ(same_boxes(one, one), 1);
  const std::vector<std::vector<DetectedBox>> other = {{{0, 0, 10, 10, 0.9, 0},
                                                        {0, 0, 10, 10, 0.8, 0},
                                                        {20, 20, 30, 30, 0.8, 2},
                                                        {50, 50, 60, 58, 0.7, 0}}};
  EXPECT_EQ(same_boxes(one, other), 2.0 / 7);
  EXPECT_EQ(same_boxes(one, other, 0.8), 4.0 / 7);
  const std::vector<std::vector<DetectedBox>> empty = {{}};
  EXPECT_EQ(same_boxes(empty, empty), 1);
  EXPECT_EQ(same_boxes(one, empty), 0);
}

Tensor rows(const Shape& shape, const std::vector<f32>& values) {
  Tensor tensor(Dtype::f32, shape);
  std::ranges::copy(values, tensor.mutable_as<f32>().begin());
  return tensor;
}

std::vector<DetectedBox> decoded(const std::string& json, const std::vector<Tensor>& outputs,
                                 int64_t width = 32, int64_t height = 16) {
  std::vector<TensorInfo> infos;
  for (const Tensor& output : outputs)
    infos.push_back({fmt::format("out{}", infos.size()), output.type()});
  return Detector::from_json(json, "d.json").boxes(infos, outputs, width, height);
}

void expect_box(const DetectedBox& got, const DetectedBox& want) {
  EXPECT_EQ(std::vector({got.left, got.top, got.right, got.bottom, got.score}),
            std::vector({want.left, want.top, want.right, want.bottom, want.score}));
  EXPECT_EQ(got.label, want.label);
}

TEST(Detector, CellsOfAGrid) {
  // Two cells of 16 pixels: the second is one box of 16 x 32 around (24, 4).
  const Tensor out =
      rows({1, 2, 7}, {0, 0, 0, 0, 0.5, 0, 0, /**/ 0.5, 0.25, 0, std::log(2.0F), 0.5, 0.25, 0.75});
  const auto found = decoded(
      R"({"boxes": {"output": 0, "count": 4}, "objectness": {"output": "out0", "first": 4, "count": 1},
      "classes": {"output": 0, "first": 5}, "box": "grid", "strides": [16]})",
      {out});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].left, 16);
  EXPECT_EQ(found[0].right, 32);
  EXPECT_NEAR(found[0].bottom - found[0].top, 32, 1e-5);  // an exponential of f32
  EXPECT_EQ(found[0].score, 0.375);
  EXPECT_EQ(found[0].label, 1);
}

TEST(Detector, ColumnsOfCenters) {
  const Tensor out = rows({1, 6, 2}, {8, 9, 8, 8, 4, 4, 2, 2, 0.75, 0.5, 0.25, 0.25});
  const auto found = decoded(
      R"({"layout": "columns", "boxes": {"output": 0, "count": 4}, "classes": {"output": 0, "first": 4},
      "box": "center", "overlap": 0.7})",
      {out});
  ASSERT_EQ(found.size(), 2U);
  expect_box(found[0], {6, 7, 10, 9, 0.75, 0});
  expect_box(found[1], {7, 7, 11, 9, 0.5, 0});
  // Beyond an overlap of .6 the lesser is none.
  EXPECT_EQ(
      decoded(
          R"({"layout": "columns", "boxes": {"output": 0, "count": 4}, "classes": {"output": 0, "first": 4},
      "box": "center", "overlap": 0.6})",
          {out})
          .size(),
      1U);
}

TEST(Detector, PriorBoxesAndSoftmax) {
  // Two cells with an anchor each, of 8 x 4 around (8, 8) and (24, 8).
  const Tensor loc = rows({1, 2, 4}, {0, 0, 0, 0, 5, 10, 0, 0});
  const Tensor conf = rows({1, 2, 3}, {9, 0, 0, 0, 0, 200});
  const auto found = decoded(
      R"({"boxes": {"output": 0}, "classes": {"output": 1}, "box": "anchors", "strides": [16], "offset": 0.5,
      "anchors": [[[8, 4]]], "activation": "softmax", "background": true})",
      {loc, conf});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], {24, 10, 32, 14, 1, 1});
}

// SCRFD's: two boxes of each cell, from its corner.
TEST(Detector, DistancesOfSeveralBoxesOfACell) {
  const Tensor scores = rows({4, 1}, {0.1F, 0.75, 0.5, 0.1F}),
               boxes = rows({4, 4}, {9, 9, 9, 9, 0.5, 0.25, 1, 0.5, 0.5, 0, 0.5, 1, 9, 9, 9, 9});
  const auto found = decoded(
      R"({"boxes": {"output": 1}, "classes": {"output": 0}, "box": "distances", "per_cell": 2, "strides": [16]})",
      {scores, boxes});
  ASSERT_EQ(found.size(), 2U);
  expect_box(found[0], {-8, -4, 16, 8, 0.75, 0});
  expect_box(found[1], {8, 0, 24, 16, 0.5, 0});
}

// NanoDet's: as likely 1 as 2 cells to the left, 0 to the right, 1 up and 2 down.
TEST(Detector, DistancesAsBins) {
  const f32 sure = 1000;
  const Tensor out = rows({1, 2, 13}, {0.75,      0, sure, sure, sure, 0, 0, 0, sure, 0, 0, 0, sure,
                                       /**/ 0.1F, 0, 0,    0,    0,    0, 0, 0, 0,    0, 0, 0, 0});
  const std::string json =
      R"({"classes": {"output": 0, "count": 1}, "boxes": {"output": 0, "first": 1, "count": 12}, "box": "distances",
      "strides": [16], "offset": 0.5, "bins": )";
  const auto found = decoded(json + "3}", {out});
  ASSERT_EQ(found.size(), 1U);
  // Sides in the order left, top, right, bottom.
  expect_box(found[0], {8 - 24, 8, 8 + 16, 8 + 32, 0.75, 0});
  expect_error([&] { decoded(json + "4}", {out}); }, Error::Code::invalid_argument,
               {"12 numbers; expected 16"});
}

// FastestDet's: a map whose cells say how far their box is from them at most a cell, and which share of the image it takes.
TEST(Detector, BoundedBoxesOfMaps) {
  const Tensor out = rows({1, 7, 1, 2}, {0, 1, /**/ 0, 0, 0, 0, 0, 0, 0, 0, /**/ 0, 0.25, 0, 0.5});
  const std::string json =
      R"({"layout": "maps", "objectness": {"output": 0, "count": 1}, "boxes": {"output": 0, "first": 1, "count": 4},
      "classes": {"output": 0, "first": 5}, "box": "bounded", "strides": [16], "powers": )";
  const auto found = decoded(json + "[2, 0]}", {out});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], {16 - 8, 0 - 4, 16 + 8, 0 + 4, 0.25, 1});
  EXPECT_EQ(decoded(json + "[0, 0], \"overlap\": 1}", {out}).size(), 2U);
  expect_error(
      [&] {
        decoded(json + "[1, 1]}", {rows({1, 7, 2}, std::vector<f32>(14))});
      },
      Error::Code::invalid_argument, {"expected f32[1,K,H,W]"});
}

TEST(Detector, TheLastClassMayBeTheBackground) {
  const Tensor boxes = rows({2, 4}, {0, 0, 8, 8, 16, 0, 24, 8}),
               scores = rows({2, 3}, {0.25, 0.5, 1, 0.75, 0, 1});
  const auto found =
      decoded(R"({"boxes": {"output": 0}, "classes": {"output": 1}, "background": "last"})",
              {boxes, scores});
  ASSERT_EQ(found.size(), 2U);
  expect_box(found[0], {16, 0, 24, 8, 0.75, 0});
  expect_box(found[1], {0, 0, 8, 8, 0.5, 1});
}

// Graphs that end in suppression of their own, or need none.
TEST(Detector, LabelsAsNumbers) {
  const Tensor out = rows({1, 4, 6}, {0,      0, 8, 8, 0.75, 17,  1, 0, 8, 8, 0.5, 17,
                                      /**/ 0, 0, 8, 8, 0.3F, NAN, 0, 0, 0, 0, 0,   -1});
  const auto found = decoded(
      R"({"boxes": {"output": 0, "count": 4}, "classes": {"output": 0, "first": 4, "count": 1},
      "labels": {"output": 0, "first": 5, "count": 1}, "overlap": 1})",
      {out});
  ASSERT_EQ(found.size(), 3U);
  expect_box(found[0], {0, 0, 8, 8, 0.75, 17});
  expect_box(found[1], {1, 0, 8, 8, 0.5, 17});
  EXPECT_EQ(found[2].label, 0);
}

TEST(Detector, SharesOfTheInput) {
  const Tensor boxes = rows({2, 4}, {0.25, 0.5, 0.5, 1, 0, 0, 1, 1});
  const Tensor scores = rows({2, 2}, {0.1F, 0.75, 1, NAN});
  const auto found = decoded(
      R"({"boxes": {"output": 0}, "classes": {"output": 1}, "units": "shares", "background": true})",
      {boxes, scores});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], {8, 8, 16, 16, 0.75, 0});
}

TEST(Detector, PresetsAreDescriptions) {
  for (const std::string& name : detector_presets()) Detector::read(name);
  expect_error([] { Detector::read("yolo"); }, Error::Code::invalid_argument,
               {"neither a file nor one of yolox"});
}

TEST(Detector, WhatIsNoDescription) {
  const std::string fields = R"("boxes": {"output": 0}, "classes": {"output": 0})";
  for (const auto& [json, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "not valid JSON"},
           {"[]", "not an object"},
           {"{}", "'boxes' is missing"},
           {R"({"boxes": 3, "classes": {"output": 0}})", "not an object"},
           {R"({"boxes": {"output": []}, "classes": {"output": 0}})", "has 0 outputs"},
           {R"({"boxes": {"output": -1}, "classes": {"output": 0}})", "a name, or a number from 0"},
           {R"({"boxes": {"output": 0, "start": 3}, "classes": {"output": 0}})",
            "'start' is not known"},
           {R"({"boxes": {"output": 0, "first": -1}, "classes": {"output": 0}})",
            "'first' is not an integer"},
           {"{" + fields + R"(, "box": "circle"})", "none of corners"},
           {"{" + fields + R"(, "box": "grid"})", "need 'strides'"},
           {"{" + fields + R"(, "box": "grid", "strides": [0]})",
            "'stride' is not an integer from 1"},
           {"{" + fields + R"(, "box": "anchors", "strides": [8]})", "1 strides and anchors for 0"},
           {"{" + fields + R"(, "box": "anchors", "strides": [8], "anchors": [[[8, -8]]]})",
            "an anchor of"},
           {"{" + fields + R"(, "min_score": 2})", "not from 0 to 1"},
           {"{" + fields + R"(, "overlap": 0})", "'overlap' is 0"},
           {"{" + fields + R"(, "most": 0})", "'most' is not an integer"},
           {"{" + fields + R"(, "variances": [1]})", "two numbers"},
           {"{" + fields + R"(, "backgroud": true})", "'backgroud' is not known"},
           {"{" + fields + R"(, "background": "middle"})", "neither true, false"},
           {"{" + fields + R"(, "powers": [1]})", "two numbers"},
           {"{" + fields + R"(, "powers": [1, -1]})", "not from 0 to 16"},
           {"{" + fields + R"(, "powers": [1, 1], "score": "root"})", "give one of them"},
           {"{" + fields + R"(, "bins": 8})", "'bins' are of 'distances'"},
           {"{" + fields + R"(, "per_cell": 2})", "'per_cell' is of 'grid'"},
           {"{" + fields + R"(, "box": "distances", "strides": [8], "bins": 0})",
            "'bins' is not an integer"},
           {"{" + fields + R"(, "box": "distances"})", "need 'strides'"},
           {std::string(64, '['), "nested deeper"}}) {
    expect_error([&json = json] { Detector::from_json(json, "d.json"); },
                 Error::Code::invalid_argument, {"d.json", says});
  }
}

TEST(Detector, WhatOutputsAreNot) {
  const std::string json = R"({"boxes": {"output": 0}, "classes": {"output": 1}})";
  const Tensor boxes = rows({1, 2, 4}, std::vector<f32>(8)),
               classes = rows({1, 3, 2}, std::vector<f32>(6));
  expect_error([&] { decoded(json, {boxes}); }, Error::Code::invalid_argument,
               {"output 1 is none"});
  expect_error(
      [&] {
        decoded(json, {boxes, classes});
      },
      Error::Code::invalid_argument, {"2 boxes and 3 rows of classes"});
  expect_error(
      [&] {
        decoded(json, {rows({2, 2, 4}, std::vector<f32>(16)), classes});
      },
      Error::Code::invalid_argument, {"expected f32[1,N,K]"});
  expect_error(
      [&] {
        decoded(json, {rows({1, 3, 3}, std::vector<f32>(9)), classes});
      },
      Error::Code::invalid_argument, {"have 3 numbers"});
  expect_error(
      [&] {
        decoded(R"({"boxes": {"output": 0}, "classes": {"output": 0, "first": 4}})", {boxes});
      },
      Error::Code::invalid_argument, {"has 4 numbers a box"});
}

// Far behind what a tensor holds, were it read.
TEST(Detector, FieldsThatAreTooNarrow) {
  constexpr s64 kMany = 100'000;
  const Tensor boxes = rows({1, 4, kMany}, std::vector<f32>(4 * kMany)),
               one = rows({1, 1, kMany}, std::vector<f32>(kMany)),
               others = rows({1, 80, 8}, std::vector<f32>(640));
  const std::string columns = R"({"layout": "columns", "boxes": {"output": 0}, "min_score": 0, )";
  expect_error(
      [&] {
        decoded(columns + R"("classes": {"output": 1}, "background": true})", {boxes, one});
      },
      Error::Code::invalid_argument, {"classes have 1 number a box", "background"});
  expect_error(
      [&] {
        decoded(columns + R"("classes": {"output": ["out1", "out2"]}})", {boxes, one, others});
      },
      Error::Code::invalid_argument, {"'out1' and 'out2'", "1 and 80 numbers a box"});
  expect_error(
      [&] {
        decoded(columns + R"("classes": {"output": 1}, "objectness": {"output": [2, 1]}})",
                {boxes, one, others});
      },
      Error::Code::invalid_argument, {"'out2' and 'out1'", "80 and 1 numbers a box"});
}

// Cells and anchors are counted before any is made: these are 2^42 and more.
TEST(Detector, MorePriorsThanMemoryHolds) {
  const Tensor boxes = rows({1, 2, 4}, std::vector<f32>(8)),
               classes = rows({1, 2, 3}, std::vector<f32>(6));
  for (const char* json : {R"({"boxes": {"output": 0}, "classes": {"output": 1}, "box": "grid",
                               "strides": [1, 1]})",
                           R"({"boxes": {"output": 0}, "classes": {"output": 1}, "box": "anchors",
                               "strides": [1], "anchors": [[[1, 1], [2, 2], [3, 3]]]})"}) {
    expect_error(
        [&] {
          decoded(json, {boxes, classes}, s64{1} << 30, s64{1} << 30);
        },
        Error::Code::invalid_argument, {"2 boxes and", "see 'strides'"});
  }
}

TEST(Detector, BoxesThatAreNotFiniteAreNone) {
  const Tensor boxes = rows({4, 4}, {0, 0, 8, 8, NAN, 0, 8, 8, 0, -INFINITY, 8, 8, 0, 0, 8, NAN}),
               scores = rows({4, 1}, {0.5, 1, 1, 1});
  const auto found =
      decoded(R"({"boxes": {"output": 0}, "classes": {"output": 1}})", {boxes, scores});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], {0, 0, 8, 8, 0.5, 0});
}

class Labels : public testing::Test {
 protected:
  CocoLabels read(const std::string& text) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() /
        fmt::format("octet-coco-{}.json", static_cast<const void*>(this));
    write_text(text, file);
    struct Gone {
      const std::filesystem::path& file;
      ~Gone() { std::filesystem::remove(file); }
    } const gone{file};
    return CocoLabels::read(file);
  }
};

constexpr const char* kLabels =
    R"({"images": [{"id": 7, "file_name": "street/a.jpg", "width": 64, "height": 32}],
  "categories": [{"id": 90}, {"id": 3}], "annotations": [{"image_id": 7, "category_id": 90, "bbox": [8, 4, 16, 8], "iscrowd": 1}]})";

TEST_F(Labels, AreMappedAsImagesAre) {
  const CocoLabels labels = read(kLabels);
  EXPECT_EQ(labels.images(), 1U);
  EXPECT_FALSE(labels.boxes("b.jpg", {}, {64, 32}));
  Preprocess letterbox;
  letterbox.letterbox = Preprocess::Size{128, 128};
  letterbox.letterbox_align = Preprocess::Align::center;
  const auto centered = labels.boxes("val/a.jpg", letterbox, {128, 128});
  ASSERT_TRUE(centered && centered->size() == 1);
  const TrueBox& box = (*centered)[0];
  EXPECT_EQ(std::vector({box.left, box.top, box.right, box.bottom}),
            std::vector<double>({16, 40, 48, 56}));
  EXPECT_TRUE(box.crowd);
  EXPECT_EQ(box.label, 1);
  const TrueBox stretched = labels.boxes("a.jpg", {}, {32, 32})->at(0);
  EXPECT_EQ(std::vector({stretched.left, stretched.top, stretched.right, stretched.bottom}),
            std::vector<double>({4, 4, 12, 12}));
  Preprocess crop;
  crop.crop = Preprocess::Size{16, 16};
  expect_error(
      [&] {
        labels.boxes("a.jpg", crop, {16, 16});
      },
      Error::Code::unsupported, {"through a crop"});
}

// As presets are before an input settles them.
TEST_F(Labels, AreMappedByAFit) {
  const CocoLabels labels = read(kLabels);
  const auto mapped = [&](const char* preset, const Preprocess::Size& size) {
    const Preprocess preprocess = find_preprocess_preset(preset)->preprocess;
    const TrueBox box = labels.boxes("a.jpg", preprocess, size)->at(0);
    return std::vector({box.left, box.top, box.right, box.bottom});
  };
  EXPECT_EQ(mapped("yolo", {64, 64}), std::vector<double>({8, 20, 24, 28}));
  // 32 x 16 in whole pixels, with 8 of 17 rows above: half of what is left over is no pixel.
  EXPECT_EQ(mapped("yolo", {32, 33}), std::vector<double>({4, 10, 12, 14}));
  EXPECT_EQ(mapped("keras", {32, 32}), std::vector<double>({4, 4, 12, 12}));
  expect_error(
      [&] {
        mapped("torchvision", {64, 64});
      },
      Error::Code::unsupported, {"through a crop"});
}

TEST_F(Labels, AreFoundByTheEndOfAPath) {
  std::string images;
  for (const char* name : {"day/a.jpg", "night/a.jpg", "old/night/a.jpg", "b.jpg", "a.jpg-1"}) {
    images += fmt::format(R"({}{{"id": {}, "file_name": "{}", "width": {}, "height": 8}})",
                          images.empty() ? "" : ", ", images.size(), name, 8 + images.size());
  }
  const CocoLabels labels = read(R"({"images": [)" + images + R"(], "categories": [{"id": 1}],
      "annotations": [{"image_id": 0, "category_id": 1, "bbox": [0, 0, 4, 4]}]})");
  EXPECT_EQ(labels.images(), 5U);
  const auto boxes_of = [&](const char* sample) {
    const auto boxes = labels.boxes(sample, {}, {8, 8});
    return boxes ? static_cast<int>(boxes->size()) : -1;
  };
  EXPECT_EQ(boxes_of("day/a.jpg"), 1);
  EXPECT_EQ(boxes_of("/data/val/day/a.jpg"), 1);
  EXPECT_EQ(boxes_of("new/night/a.jpg"), 0);
  EXPECT_EQ(boxes_of("old/night/a.jpg"), 0);
  EXPECT_EQ(boxes_of("day/b.jpg"), 0);
  EXPECT_EQ(boxes_of("c.jpg"), -1);
  EXPECT_EQ(boxes_of("day"), -1);
  for (const char* sample : {"a.jpg", "dusk/a.jpg"}) {
    expect_error([&] { boxes_of(sample); }, Error::Code::invalid_argument,
                 {sample, "several images"});
  }
}

TEST_F(Labels, WhatIsNone) {
  const std::string whole = kLabels;
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string text = whole;
    return text.replace(text.find(part), part.size(), other);
  };
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "not valid JSON"},
           {"[]", "not an object"},
           {with("\"images\"", "\"image\""), "'images' is missing"},
           {with("\"width\": 64", "\"width\": 0"), "0 x 32 pixels"},
           {with("\"image_id\": 7", "\"image_id\": 8"), "none of the file's"},
           {with("\"category_id\": 90", "\"category_id\": 4"), "its category is none"},
           {with("[8, 4, 16, 8]", "[8, 4, 16]"), "not [left, top, width, height]"},
           {with("[8, 4, 16, 8]", "[8, 4, 16, 1e999]"), "not valid JSON"},
           {with("{\"id\": 3}", "{\"id\": 90}"), "twice"},
           {with("\"iscrowd\": 1", "\"iscrowd\": 2"), "'iscrowd' is not an integer"}}) {
    expect_error([&, &json = text] { read(json); }, Error::Code::invalid_argument, {says});
  }
}

}  // namespace
}  // namespace octet
