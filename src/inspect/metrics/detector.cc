// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "inspect/metrics/detector_form.h"
#include "octet/closest.h"
#include "octet/detection.h"
#include "octet/input.h"

namespace octet {

struct Detector::Impl {
  DetectorForm form;
};

namespace {

// Rows of one output: [1,N,K], [N,K], or as the description says [1,K,N] or [1,K,H,W].
class Rows {
 public:
  Rows(const Tensor& tensor, const std::string& name, DetectorLayout layout)
      : columns_(layout != DetectorLayout::rows) {
    const Shape& shape = tensor.shape();
    const int rank = static_cast<int>(shape.rank());
    const bool maps = layout == DetectorLayout::maps;
    const bool sized = maps ? rank == 4 : rank == 2 || rank == 3;
    if (tensor.dtype() != Dtype::f32 || !sized || (rank > 2 && shape[0] != 1)) {
      fail(Error::Code::invalid_argument,
           "the detector's output '{}' is {}; expected f32[{}] of one sample", name,
           to_string(tensor.type()), maps ? "1,K,H,W" : "1,N,K");
    }
    const int first = maps ? 1 : rank - 2;
    width_ = shape[columns_ ? first : rank - 1];
    count_ = columns_ ? shape[rank - 1] * (maps ? shape[2] : 1) : shape[first];
    values_ = tensor.as<f32>();
  }

  s64 count() const { return count_; }
  s64 width() const { return width_; }
  f64 at(s64 row, s64 column) const {
    return values_[static_cast<size_t>(columns_ ? column * count_ + row : row * width_ + column)];
  }

 private:
  bool columns_;
  s64 count_ = 0, width_ = 0;
  std::span<const f32> values_;
};

// The rows of several outputs, one after another.
class Field {
 public:
  Field(const DetectorField& form, DetectorLayout layout, std::span<const TensorInfo> infos,
        std::span<const Tensor> outputs)
      : first_(form.first), width_(form.count) {
    for (const DetectorOutput& wanted : form.outputs) {
      const size_t at = index_of(wanted, infos);
      parts_.emplace_back(outputs[at], infos[at].name, layout);
      const Rows& rows = parts_.back();
      const s64 count = form.count > 0 ? form.count : rows.width() - first_;
      if (count < 1 || first_ + count > rows.width()) {
        fail(Error::Code::invalid_argument,
             "the detector's output '{}' has {} numbers a box; the description asks for {} from {} "
             "on",
             infos[at].name, rows.width(), std::max<s64>(count, 1), first_);
      }
      if (parts_.size() > 1 && count != width_) {
        fail(Error::Code::invalid_argument,
             "the detector's outputs '{}' and '{}' are one field of its description, and have {} "
             "and {} numbers a box",
             infos[index_of(form.outputs[0], infos)].name, infos[at].name, width_, count);
      }
      width_ = count;
      count_ += rows.count();
    }
  }

  s64 count() const { return count_; }
  s64 width() const { return width_; }
  f64 at(s64 row, s64 column) const {
    size_t part = 0;
    while (row >= parts_[part].count()) row -= parts_[part++].count();
    return parts_[part].at(row, first_ + column);
  }

 private:
  static size_t index_of(const DetectorOutput& wanted, std::span<const TensorInfo> infos) {
    if (wanted.name.empty() && static_cast<size_t>(wanted.index) < infos.size())
      return static_cast<size_t>(wanted.index);
    std::vector<std::string> names;
    for (size_t i = 0; i < infos.size(); ++i) {
      if (!wanted.name.empty() && infos[i].name == wanted.name) return i;
      names.push_back(infos[i].name);
    }
    fail(Error::Code::invalid_argument, "the detector's output {} is none of the model's: {}",
         wanted.name.empty() ? std::to_string(wanted.index) : "'" + wanted.name + "'",
         fmt::join(names, ", "));
  }

  s64 first_, width_, count_ = 0;
  std::vector<Rows> parts_;
};

// Where the description's boxes stand: the cell of a grid, or a prior box.
struct Prior {
  f64 x = 0, y = 0, width = 0, height = 0;
};

// Those of one cell, whose corner or middle is (left, top) in cells.
void add_priors(const DetectorForm& form, size_t level, f64 left, f64 top,
                std::vector<Prior>& priors) {
  const auto step = static_cast<f64>(form.strides[level]);
  if (form.box != BoxForm::anchors)
    return void(
        priors.insert(priors.end(), static_cast<size_t>(form.per_cell), {left, top, step, step}));
  for (const auto& [width, height] : form.anchors[level])
    priors.push_back({left * step, top * step, width, height});
}

// So many are there, or at least 2^40: no tensor has as many rows.
s64 priors_in(const DetectorForm& form, s64 width, s64 height) {
  constexpr s64 kMost = s64{1} << 40;
  s64 count = 0;
  for (size_t level = 0; level < form.strides.size(); ++level) {
    const s64 stride = form.strides[level];
    const s64 rows = (height + stride - 1) / stride, columns = (width + stride - 1) / stride;
    const s64 of_cell =
        form.box == BoxForm::anchors ? std::ssize(form.anchors[level]) : form.per_cell;
    count += std::min(rows * columns, kMost) * of_cell;
  }
  return count;
}

std::vector<Prior> priors_of(const DetectorForm& form, s64 width, s64 height) {
  std::vector<Prior> priors;
  for (size_t level = 0; level < form.strides.size(); ++level) {
    const s64 stride = form.strides[level];
    const s64 rows = (height + stride - 1) / stride, columns = (width + stride - 1) / stride;
    for (s64 cell = 0; cell < rows * columns; ++cell) {
      const s64 row = cell / columns, column = cell % columns;
      add_priors(form, level, static_cast<f64>(column) + form.offset,
                 static_cast<f64>(row) + form.offset, priors);
    }
  }
  return priors;
}

f64 sigmoid(f64 x) { return 1 / (1 + std::exp(-x)); }

class Decoding {
 public:
  Decoding(const DetectorForm& form, std::span<const TensorInfo> infos,
           std::span<const Tensor> outputs, Preprocess::Size size)
      : form_(form),
        size_(size),
        boxes_(form.boxes, form.layout, infos, outputs),
        classes_(form.classes, form.layout, infos, outputs) {
    if (form.objectness) objectness_.emplace(*form.objectness, form.layout, infos, outputs);
    if (form.labels) labels_.emplace(*form.labels, form.layout, infos, outputs);
    check_counts();
    if (is_placed()) priors_ = priors_of(form, size.width, size.height);
  }

  std::vector<DetectedBox> run() const {
    std::vector<DetectedBox> found;
    for (s64 row = 0; row < boxes_.count(); ++row) {
      const auto [label, score] = best_class(row);
      // NaN is no score.
      if (!(score >= form_.least_score)) continue;
      DetectedBox box = place(row);
      if (!is_finite(box)) continue;
      box.score = score;
      box.label = label;
      found.push_back(box);
    }
    return found;
  }

 private:
  bool is_placed() const { return form_.box != BoxForm::corners && form_.box != BoxForm::center; }

  static bool is_finite(const DetectedBox& box) {
    return std::isfinite(box.left) && std::isfinite(box.top) && std::isfinite(box.right) &&
           std::isfinite(box.bottom);
  }

  void check_counts() const {
    const auto same = [&](s64 count, const char* what) {
      if (count == boxes_.count()) return;
      fail(Error::Code::invalid_argument, "the detector has {} boxes and {} {}", boxes_.count(),
           count, what);
    };
    same(classes_.count(), "rows of classes");
    if (objectness_) same(objectness_->count(), "rows of objectness");
    if (labels_) same(labels_->count(), "rows of labels");
    // Before they are made: a description may ask for more than memory holds.
    if (is_placed()) {
      same(priors_in(form_, size_.width, size_.height),
           "cells and anchors for an input of its size: see 'strides'");
    }
    const s64 numbers = form_.box == BoxForm::distances ? 4 * form_.bins : 4;
    if (boxes_.width() < numbers)
      fail(Error::Code::invalid_argument, "the detector's boxes have {} numbers; expected {}",
           boxes_.width(), numbers);
    if (form_.background != Background::none && classes_.width() < 2) {
      fail(Error::Code::invalid_argument,
           "the detector's classes have 1 number a box, and the description says that the {} is "
           "the background: no class is left",
           form_.background == Background::first ? "first" : "last");
    }
  }

  f64 activated(const Field& field, s64 row, s64 column) const {
    const f64 raw = field.at(row, column);
    return form_.activation == ScoreForm::sigmoid ? sigmoid(raw) : raw;
  }

  std::pair<int, f64> best_class(s64 row) const {
    const s64 first = form_.background == Background::first ? 1 : 0;
    const s64 end = classes_.width() - (form_.background == Background::last ? 1 : 0);
    s64 best = first;
    for (s64 c = first + 1; c < end; ++c) {
      if (classes_.at(row, c) > classes_.at(row, best)) best = c;
    }
    f64 score = activated(classes_, row, best);
    if (form_.activation == ScoreForm::softmax) score = softmax(row, best);
    if (objectness_) score = powered(score, 0) * powered(activated(*objectness_, row, 0), 1);
    return {labels_ ? label_at(row) : static_cast<int>(best - first), score};
  }

  // What is negative is no likelihood.
  f64 powered(f64 value, size_t which) const {
    const f64 power = form_.powers[which];
    return power == 1 ? value : std::pow(std::max(0.0, value), power);
  }

  // A label that is no number of a class is 0, as where a detector pads its list of boxes.
  int label_at(s64 row) const {
    constexpr f64 kMostLabel = 1 << 20;
    const f64 label = labels_->at(row, 0);
    return label >= 0 && label <= kMostLabel ? static_cast<int>(label) : 0;
  }

  f64 softmax(s64 row, s64 best) const {
    f64 most = classes_.at(row, 0), sum = 0;
    for (s64 c = 1; c < classes_.width(); ++c) most = std::max(most, classes_.at(row, c));
    for (s64 c = 0; c < classes_.width(); ++c) sum += std::exp(classes_.at(row, c) - most);
    return std::exp(classes_.at(row, best) - most) / sum;
  }

  DetectedBox place(s64 row) const {
    f64 v[4];
    for (s64 i = 0; i < 4; ++i) v[i] = form_.bins > 1 ? mean_bin(row, i) : boxes_.at(row, i);
    if (form_.shares) {
      v[0] *= size_.width, v[2] *= size_.width;
      v[1] *= size_.height, v[3] *= size_.height;
    }
    if (form_.box == BoxForm::corners) return {v[0], v[1], v[2], v[3]};
    if (form_.box == BoxForm::center) return around(v[0], v[1], v[2], v[3]);
    const Prior& prior = priors_[static_cast<size_t>(row)];
    if (form_.box == BoxForm::distances) {
      return {(prior.x - v[0]) * prior.width, (prior.y - v[1]) * prior.height,
              (prior.x + v[2]) * prior.width, (prior.y + v[3]) * prior.height};
    }
    if (form_.box == BoxForm::bounded) {
      return around((prior.x + std::tanh(v[0])) * prior.width,
                    (prior.y + std::tanh(v[1])) * prior.height, sigmoid(v[2]) * size_.width,
                    sigmoid(v[3]) * size_.height);
    }
    if (form_.box == BoxForm::grid) {
      return around((v[0] + prior.x) * prior.width, (v[1] + prior.y) * prior.height,
                    std::exp(v[2]) * prior.width, std::exp(v[3]) * prior.height);
    }
    return around(prior.x + v[0] * form_.variances[0] * prior.width,
                  prior.y + v[1] * form_.variances[0] * prior.height,
                  prior.width * std::exp(v[2] * form_.variances[1]),
                  prior.height * std::exp(v[3] * form_.variances[1]));
  }
  // The mean of a distance's bins, by their logarithms.
  f64 mean_bin(s64 row, s64 side) const {
    f64 most = boxes_.at(row, side * form_.bins), sum = 0, weighted = 0;
    for (s64 b = 1; b < form_.bins; ++b)
      most = std::max(most, boxes_.at(row, side * form_.bins + b));
    for (s64 b = 0; b < form_.bins; ++b) {
      const f64 likely = std::exp(boxes_.at(row, side * form_.bins + b) - most);
      sum += likely;
      weighted += likely * static_cast<f64>(b);
    }
    return weighted / sum;
  }
  static DetectedBox around(f64 x, f64 y, f64 width, f64 height) {
    return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
  }

  const DetectorForm& form_;
  Preprocess::Size size_;
  Field boxes_, classes_;
  std::optional<Field> objectness_, labels_;
  std::vector<Prior> priors_;
};

f64 area(const DetectedBox& box) {
  return std::max(0.0, box.right - box.left) * std::max(0.0, box.bottom - box.top);
}

f64 overlap_of(const DetectedBox& a, const DetectedBox& b) {
  const f64 width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const f64 height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const f64 both = std::max(0.0, width) * std::max(0.0, height);
  const f64 either = area(a) + area(b) - both;
  return either > 0 ? both / either : 0;
}

// A hostile output makes every row a box: quadratic work is bounded by the best that can be kept.
constexpr size_t kMostCandidates = 10'000;

std::vector<DetectedBox> suppressed(const DetectorForm& form, std::vector<DetectedBox> boxes) {
  std::ranges::stable_sort(
      boxes, [](const DetectedBox& a, const DetectedBox& b) { return a.score > b.score; });
  if (boxes.size() > kMostCandidates) boxes.resize(kMostCandidates);
  std::vector<DetectedBox> kept;
  for (const DetectedBox& box : boxes) {
    if (kept.size() == static_cast<size_t>(form.most)) break;
    const bool hidden = std::ranges::any_of(kept, [&](const DetectedBox& better) {
      return better.label == box.label && overlap_of(better, box) >= form.overlap;
    });
    if (!hidden) kept.push_back(box);
  }
  return kept;
}

}  // namespace

Detector Detector::from_json(std::string_view text, const std::string& file) {
  return Detector(std::make_shared<const Impl>(Impl{detector_form(text, file)}));
}

Detector Detector::read(const std::string& name_or_file) {
  for (const DetectorPreset& preset : kDetectorPresets) {
    if (name_or_file == preset.name) return from_json(preset.json, preset.name);
  }
  std::error_code none;
  if (!std::filesystem::exists(name_or_file, none)) {
    const std::vector<std::string> names = detector_presets();
    fail(Error::Code::invalid_argument, "the detector '{}' is neither a file nor one of {}{}",
         name_or_file, fmt::join(names, ", "), did_you_mean(name_or_file, names));
  }
  constexpr u64 kMostBytes = 1 << 20;
  return from_json(read_text(name_or_file, kMostBytes), name_or_file);
}

Detector Detector::with_least_score(double score) const {
  Impl changed = *impl_;
  changed.form.least_score = score;
  return Detector(std::make_shared<const Impl>(std::move(changed)));
}

std::vector<DetectedBox> Detector::boxes(std::span<const TensorInfo> infos,
                                         std::span<const Tensor> outputs, int64_t width,
                                         int64_t height) const {
  const Preprocess::Size size{static_cast<int>(width), static_cast<int>(height)};
  return suppressed(impl_->form, Decoding(impl_->form, infos, outputs, size).run());
}

std::optional<Preprocess::Size> Detector::image_size(const Tensor& input) {
  const Shape& shape = input.shape();
  if (shape.rank() != 4) return std::nullopt;
  const auto few = [](s64 channels) { return channels == 1 || channels == 3; };
  if (few(shape[1]))
    return Preprocess::Size{static_cast<int>(shape[3]), static_cast<int>(shape[2])};
  if (few(shape[3]))
    return Preprocess::Size{static_cast<int>(shape[2]), static_cast<int>(shape[1])};
  return std::nullopt;
}

std::vector<std::string> detector_presets() {
  std::vector<std::string> names;
  for (const DetectorPreset& preset : kDetectorPresets) names.emplace_back(preset.name);
  return names;
}

}  // namespace octet
