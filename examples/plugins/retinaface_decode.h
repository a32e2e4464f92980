// SPDX-License-Identifier: Apache-2.0
// From RetinaFace's feature maps to faces: anchors, scores, boxes and landmarks, and what overlaps removed. Callers of the bare network
// use it as the plugin does (retinaface_caller.cc).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace retinaface {

constexpr int kLevels = 3;
constexpr int kAnchors = 2;
constexpr int kLandmarks = 10;
// Of a pixel: 2 boxes of 4, then 2 pairs of background and face, then 2 times 5 points.
constexpr int kBoxes = 0, kScores = 8, kPoints = 12, kChannels = 32;
constexpr float kStep[kLevels] = {8, 16, 32};
constexpr float kSize[kLevels][kAnchors] = {{16, 32}, {64, 128}, {256, 512}};
constexpr float kCenterVariance = 0.1f, kSizeVariance = 0.2f;

struct Options {
  float score = 0.02f;
  float overlap = 0.4f;
  int faces = 200;
};

struct Candidate {
  float score;
  int32_t level, pixel, anchor;
};

// One image of a level: value(channel, pixel) of T, as a real.
template <class T>
struct Map {
  const T* data;
  int64_t height, width;
  int64_t channel_stride, pixel_stride;
  float scale = 1;
  int32_t zero_point = 0;

  float at(int channel, int64_t pixel) const {
    const T q = data[channel * channel_stride + pixel * pixel_stride];
    if constexpr (sizeof(T) == 1)
      return scale * static_cast<float>(static_cast<int32_t>(q) - zero_point);
    else
      return q;
  }
};

struct Face {
  float box[4];  // left, top, right, bottom in pixels of the input
  float score;
  float points[kLandmarks];
};

// Codes tell by a subtraction who cannot pass.
template <class T>
bool may_pass(const Map<T>& map, int64_t pixel, int anchor, int32_t least) {
  if constexpr (sizeof(T) == 1) {
    const T* q = map.data + pixel * map.pixel_stride + (kScores + 2 * anchor) * map.channel_stride;
    return int32_t{q[map.channel_stride]} - int32_t{q[0]} >= least;
  } else {
    return true;
  }
}

// Adds the anchors of one level that pass to `found`; returns where it ends then.
template <class T>
Candidate* level_candidates(const Map<T>& map, int level, const Options& options,
                            Candidate* found) {
  const float logit = std::log(options.score / (1 - options.score));
  const float bound = std::max(-256.0f, std::min(256.0f, std::floor(logit / map.scale)));
  const auto least = static_cast<int32_t>(bound) - 1;
  for (int64_t i = 0; i < map.height * map.width * kAnchors; ++i) {
    const int64_t p = i / kAnchors;
    const int a = static_cast<int>(i % kAnchors);
    if (!may_pass(map, p, a, least)) continue;
    const float margin = map.at(kScores + 2 * a + 1, p) - map.at(kScores + 2 * a, p);
    if (margin > logit) *found++ = {1 / (1 + std::exp(-margin)), level, static_cast<int32_t>(p), a};
  }
  return found;
}

template <class T>
Face decode(const Map<T>& map, const Candidate& c) {
  const float size = kSize[c.level][c.anchor], step = kStep[c.level];
  const float x = (static_cast<float>(c.pixel % map.width) + 0.5f) * step;
  const float y = (static_cast<float>(c.pixel / map.width) + 0.5f) * step;
  const auto value = [&](int channel) { return map.at(channel, c.pixel); };
  Face face;
  const int box = kBoxes + 4 * c.anchor;
  const float cx = x + value(box) * kCenterVariance * size;
  const float cy = y + value(box + 1) * kCenterVariance * size;
  const float w = size * std::exp(value(box + 2) * kSizeVariance);
  const float h = size * std::exp(value(box + 3) * kSizeVariance);
  face.box[0] = cx - w / 2;
  face.box[1] = cy - h / 2;
  face.box[2] = cx + w / 2;
  face.box[3] = cy + h / 2;
  face.score = c.score;
  for (int i = 0; i < kLandmarks; ++i) {
    const float center = i % 2 == 0 ? x : y;
    face.points[i] = center + value(kPoints + kLandmarks * c.anchor + i) * kCenterVariance * size;
  }
  return face;
}

inline float overlap(const Face& a, const Face& b) {
  const float w = std::min(a.box[2], b.box[2]) - std::max(a.box[0], b.box[0]);
  const float h = std::min(a.box[3], b.box[3]) - std::max(a.box[1], b.box[1]);
  if (w <= 0 || h <= 0) return 0;
  const auto area = [](const Face& f) { return (f.box[2] - f.box[0]) * (f.box[3] - f.box[1]); };
  return w * h / (area(a) + area(b) - w * h);
}

// The faces of one image, best first; returns how many. `found` has room for every anchor, `faces` for options.faces.
template <class T>
int faces_of(const Map<T> (&maps)[kLevels], const Options& options, Candidate* found, Face* faces) {
  Candidate* end = found;
  for (int level = 0; level < kLevels; ++level)
    end = level_candidates(maps[level], level, options, end);
  const int64_t count = end - found;
  // Equal scores keep the order of anchors.
  std::sort(found, found + count, [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.level != b.level) return a.level < b.level;
    return a.pixel != b.pixel ? a.pixel < b.pixel : a.anchor < b.anchor;
  });
  int kept = 0;
  for (int64_t i = 0; i < count && kept < options.faces; ++i) {
    const Face face = decode(maps[found[i].level], found[i]);
    bool is_new = true;
    for (int k = 0; k < kept && is_new; ++k) is_new = overlap(face, faces[k]) <= options.overlap;
    if (is_new) faces[kept++] = face;
  }
  return kept;
}

}  // namespace retinaface
