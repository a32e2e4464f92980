// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression(boxes, scores, max_boxes?, iou_threshold?, score_threshold?) {center_point_box=0}: of each batch and
// class the boxes in order of score, without those that overlap a chosen one; rows [batch, class, box].
#include <algorithm>
#include <optional>

#include "graph/attributes.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

struct NonMaxSuppressionAttributes {
  s64 center_point_box = 0;

  OCTET_ATTRIBUTES(center_point_box)
};

constexpr auto kInvalid = Error::Code::invalid_model;

void require_scalar(const Inference& inference, size_t i, Dtype dtype) {
  if (!inference.has_input(i)) return;
  const TensorType& type = inference.inputs[i];
  if (type.dtype == dtype && type.shape.elements() <= 1) return;
  fail(kInvalid, "input {} is {}, expected one {}", i, to_string(type), dtype_name(dtype));
}

void infer(Inference& inference) {
  const TensorType& boxes = inference.inputs[0];
  const TensorType& scores = inference.inputs[1];
  const bool fits = boxes.dtype == Dtype::f32 && scores.dtype == Dtype::f32 &&
                    boxes.shape.rank() == 3 && scores.shape.rank() == 3 && boxes.shape[2] == 4 &&
                    boxes.shape[0] == scores.shape[0] && boxes.shape[1] == scores.shape[2];
  if (!fits) {
    fail(kInvalid,
         "boxes are {} and scores {}, expected f32[batch,boxes,4] and f32[batch,classes,boxes]",
         to_string(boxes), to_string(scores));
  }
  const s64 format = attribute_of<&NonMaxSuppressionAttributes::center_point_box>(inference.node);
  if (format != 0 && format != 1) fail(kInvalid, "center_point_box is {}", format);
  require_scalar(inference, 2, Dtype::s64);
  require_scalar(inference, 3, Dtype::f32);
  require_scalar(inference, 4, Dtype::f32);
  inference.output(Dtype::s64, {Shape::kDynamic, 3});
}

template <class T>
std::optional<T> scalar_input(const Eval& eval, size_t i) {
  if (!eval.has_input(i) || eval.inputs[i].shape.elements() == 0) return std::nullopt;
  return eval.inputs[i].as<T>()[0];
}

struct Box {
  f32 x0, x1, y0, y1;
  f32 area() const { return (x1 - x0) * (y1 - y0); }
};

Box read_box(const f32* at, bool centered) {
  if (centered) {
    const f32 half_width = at[2] / 2, half_height = at[3] / 2;
    return {at[0] - half_width, at[0] + half_width, at[1] - half_height, at[1] + half_height};
  }
  // Corners in any order.
  return {std::min(at[1], at[3]), std::max(at[1], at[3]), std::min(at[0], at[2]),
          std::max(at[0], at[2])};
}

bool overlap(const Box& a, const Box& b, f32 threshold) {
  const f32 width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const f32 height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0) || !(height > 0)) return false;
  const f32 both = width * height;
  const f32 either = a.area() + b.area() - both;
  if (!(a.area() > 0) || !(b.area() > 0) || !(either > 0)) return false;
  return both / either > threshold;
}

struct Limits {
  s64 max_boxes;
  f32 iou;
  std::optional<f32> score;
};

// Chosen boxes of one class. A score that is no number is never chosen.
std::vector<s64> choose(std::span<const Box> boxes, const f32* scores, const Limits& limits) {
  std::vector<s64> candidates;
  for (s64 i = 0; i < static_cast<s64>(boxes.size()); ++i) {
    if (scores[i] == scores[i] && (!limits.score || scores[i] > *limits.score))
      candidates.push_back(i);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](s64 a, s64 b) { return scores[a] > scores[b]; });
  std::vector<s64> chosen;
  for (s64 i : candidates) {
    if (static_cast<s64>(chosen.size()) >= limits.max_boxes) break;
    const Box& box = boxes[static_cast<size_t>(i)];
    const bool covered = std::ranges::any_of(chosen, [&](s64 other) {
      return overlap(box, boxes[static_cast<size_t>(other)], limits.iou);
    });
    if (!covered) chosen.push_back(i);
  }
  return chosen;
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[1].shape;  // batch, classes, boxes
  const f32* boxes = eval.inputs[0].as<f32>().data();
  const f32* scores = eval.inputs[1].as<f32>().data();
  const bool centered =
      attribute_of<&NonMaxSuppressionAttributes::center_point_box>(eval.node) == 1;
  const Limits limits{scalar_input<s64>(eval, 2).value_or(0),
                      scalar_input<f32>(eval, 3).value_or(0.0f), scalar_input<f32>(eval, 4)};
  std::vector<s64> rows;
  std::vector<Box> of_image(static_cast<size_t>(shape[2]));
  for (s64 n = 0; n < shape[0]; ++n) {
    for (Box& box : of_image) {
      box = read_box(boxes, centered);
      boxes += 4;
    }
    for (s64 c = 0; c < shape[1]; ++c, scores += shape[2]) {
      for (s64 i : choose(of_image, scores, limits)) rows.insert(rows.end(), {n, c, i});
    }
  }
  const s64 count = static_cast<s64>(rows.size()) / 3;
  std::ranges::copy(rows, eval.make(0, {Dtype::s64, {count, 3}}).as<s64>().begin());
}

// Of each class, every box may meet every other.
f64 work(const Node&, TensorTypes inputs, TensorTypes) {
  const Shape& scores = inputs[1].shape;
  return element_count(scores) * static_cast<f64>(scores[2]);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kNonMaxSuppression{.name = "NonMaxSuppression",
                                                .inputs = {2, 5},
                                                .infer = infer,
                                                .eval = eval,
                                                .traits = &kTraits};
}  // namespace octet
