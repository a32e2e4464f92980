// SPDX-License-Identifier: Apache-2.0
// Mean average precision as pycocotools' COCOeval computes it for boxes of all sizes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/check.h"
#include "core/types.h"
#include "octet/detection.h"

namespace octet {
namespace {

constexpr size_t kMostOfImage = 100;
constexpr size_t kOverlaps = 10;  // .5, .55, ... .95
constexpr size_t kRecalls = 101;

// As numpy.linspace has them.
f64 overlap_at(size_t i) { return 0.5 + static_cast<f64>(i) * ((0.95 - 0.5) / (kOverlaps - 1)); }
f64 recall_at(size_t i) { return static_cast<f64>(i) * (1.0 / (kRecalls - 1)); }

// Of width and height, as COCO's files have boxes. What lies in a crowd is held against its own area.
f64 overlap_with(const DetectedBox& found, const TrueBox& truth) {
  const f64 width = std::min(found.right, truth.right) - std::max(found.left, truth.left);
  const f64 height = std::min(found.bottom, truth.bottom) - std::max(found.top, truth.top);
  // A box with a NaN has none.
  if (!(width > 0 && height > 0)) return 0;
  const f64 both = width * height;
  const f64 area = (found.right - found.left) * (found.bottom - found.top);
  const f64 other = (truth.right - truth.left) * (truth.bottom - truth.top);
  return both / (truth.crowd ? area : area + other - both);
}

// What became of one found box at each overlap.
struct Judged {
  f64 score = 0;
  std::array<bool, kOverlaps> right = {}, ignored = {};
};

// One class of one image. Boxes of crowds stand last.
class Matching {
 public:
  Matching(std::vector<const DetectedBox*> found, std::vector<const TrueBox*> truth)
      : found_(std::move(found)), truth_(std::move(truth)) {
    std::ranges::stable_sort(found_, [](auto* a, auto* b) { return a->score > b->score; });
    if (found_.size() > kMostOfImage) found_.resize(kMostOfImage);
    std::ranges::stable_sort(truth_, [](auto* a, auto* b) { return !a->crowd && b->crowd; });
  }

  std::vector<Judged> run() const {
    std::vector<Judged> judged;
    for (const DetectedBox* box : found_) judged.push_back({.score = box->score});
    for (size_t o = 0; o < kOverlaps; ++o) match(o, judged);
    return judged;
  }

 private:
  void match(size_t o, std::vector<Judged>& judged) const {
    std::vector<bool> taken(truth_.size(), false);
    for (size_t f = 0; f < found_.size(); ++f) {
      const ptrdiff_t best = partner(*found_[f], overlap_at(o), taken);
      if (best < 0) continue;
      const auto at = static_cast<size_t>(best);
      taken[at] = true;
      judged[f].ignored[o] = truth_[at]->crowd;
      judged[f].right[o] = !truth_[at]->crowd;
    }
  }

  ptrdiff_t partner(const DetectedBox& found, f64 least, const std::vector<bool>& taken) const {
    f64 most = std::min(least, 1 - 1e-10);
    ptrdiff_t best = -1;
    for (size_t t = 0; t < truth_.size(); ++t) {
      const TrueBox& truth = *truth_[t];
      if (taken[t] && !truth.crowd) continue;
      // A real one goes before any crowd.
      if (best >= 0 && truth.crowd && !truth_[static_cast<size_t>(best)]->crowd) break;
      const f64 overlap = overlap_with(found, truth);
      if (!(overlap >= most)) continue;
      most = overlap;
      best = static_cast<ptrdiff_t>(t);
    }
    return best;
  }

  std::vector<const DetectedBox*> found_;
  std::vector<const TrueBox*> truth_;
};

// Precision that no later point passes, at the recalls; all boxes of one class, the best first.
f64 average_precision(const std::vector<Judged>& judged, size_t o, s64 wanted) {
  std::vector<f64> recall, precision;
  s64 right = 0, wrong = 0;
  for (const Judged& one : judged) {
    if (one.ignored[o]) continue;
    (one.right[o] ? right : wrong) += 1;
    const auto hits = static_cast<f64>(right);
    recall.push_back(hits / static_cast<f64>(wanted));
    precision.push_back(hits /
                        (static_cast<f64>(wrong) + hits + std::numeric_limits<f64>::epsilon()));
  }
  for (size_t i = precision.size(); i-- > 1;)
    precision[i - 1] = std::max(precision[i - 1], precision[i]);
  f64 sum = 0;
  for (size_t r = 0; r < kRecalls; ++r) {
    const auto at = std::ranges::lower_bound(recall, recall_at(r)) - recall.begin();
    if (at < std::ssize(precision)) sum += precision[static_cast<size_t>(at)];
  }
  return sum / kRecalls;
}

// Of one image, so that its boxes are gone over once and not for each class.
template <class Box>
std::map<int, std::vector<const Box*>> by_class(const std::vector<Box>& boxes) {
  std::map<int, std::vector<const Box*>> classes;
  for (const Box& box : boxes) classes[box.label].push_back(&box);
  return classes;
}

// What became of the found boxes of each class that is wanted.
std::map<int, std::vector<Judged>> judged_by_class(std::span<const std::vector<DetectedBox>> found,
                                                   std::span<const std::vector<TrueBox>> truth,
                                                   const std::map<int, s64>& wanted) {
  std::map<int, std::vector<Judged>> judged;
  for (size_t i = 0; i < found.size(); ++i) {
    auto true_ones = by_class(truth[i]);
    for (auto& [label, boxes] : by_class(found[i])) {
      if (!wanted.contains(label)) continue;
      const auto one = Matching(boxes, std::move(true_ones[label])).run();
      std::vector<Judged>& all = judged[label];
      all.insert(all.end(), one.begin(), one.end());
    }
  }
  return judged;
}

}  // namespace

MeanPrecision mean_precision(std::span<const std::vector<DetectedBox>> found,
                             std::span<const std::vector<TrueBox>> truth) {
  OCTET_CHECK(found.size() == truth.size());
  std::map<int, s64> wanted;
  for (const std::vector<TrueBox>& boxes : truth) {
    for (const TrueBox& box : boxes) wanted[box.label] += box.crowd ? 0 : 1;
  }
  auto of_classes = judged_by_class(found, truth, wanted);
  MeanPrecision result;
  f64 sum = 0, sum50 = 0;
  s64 classes = 0;
  for (const auto& [label, count] : wanted) {
    if (count == 0) continue;
    std::vector<Judged>& judged = of_classes[label];
    std::ranges::stable_sort(judged,
                             [](const Judged& a, const Judged& b) { return a.score > b.score; });
    for (size_t o = 0; o < kOverlaps; ++o) sum += average_precision(judged, o, count);
    sum50 += average_precision(judged, 0, count);
    ++classes;
    result.boxes += count;
  }
  if (classes == 0) return result;
  result.map = sum / static_cast<f64>(classes * static_cast<s64>(kOverlaps));
  result.map50 = sum50 / static_cast<f64>(classes);
  return result;
}

namespace {

TrueBox as_truth(const DetectedBox& box) {
  return {box.left, box.top, box.right, box.bottom, box.label, false};
}

struct BoxPair {
  f64 overlap = 0;
  size_t one = 0, other = 0;
};

size_t count_pairs(const std::vector<DetectedBox>& one, const std::vector<DetectedBox>& other,
                   f64 least) {
  std::vector<BoxPair> pairs;
  for (size_t i = 0; i < one.size(); ++i) {
    for (size_t j = 0; j < other.size(); ++j) {
      if (one[i].label != other[j].label) continue;
      const f64 overlap = overlap_with(one[i], as_truth(other[j]));
      if (overlap >= least) pairs.push_back({overlap, i, j});
    }
  }
  std::ranges::stable_sort(
      pairs, [](const BoxPair& a, const BoxPair& b) { return a.overlap > b.overlap; });
  std::set<size_t> used_one, used_other;
  for (const BoxPair& pair : pairs) {
    if (used_one.contains(pair.one) || used_other.contains(pair.other)) continue;
    used_one.insert(pair.one);
    used_other.insert(pair.other);
  }
  return used_one.size();
}

}  // namespace

double same_boxes(std::span<const std::vector<DetectedBox>> one,
                  std::span<const std::vector<DetectedBox>> other, double overlap) {
  OCTET_CHECK(one.size() == other.size());
  size_t pairs = 0, boxes = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    pairs += count_pairs(one[i], other[i], overlap);
    boxes += one[i].size() + other[i].size();
  }
  return boxes == 0 ? 1 : 2 * static_cast<f64>(pairs) / static_cast<f64>(boxes);
}

}  // namespace octet
