// SPDX-License-Identifier: Apache-2.0
#include "passes/sample_sizes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

namespace octet {
namespace {

// The usual sizes; where the model refuses these: a batch of 1, sequences long enough for convolutions of spectrograms and of sound, and images
// of the one size that transformers have positions for, small ones last: one position alone would be added to any.
constexpr SizeAttempt kAttempts[] = {
    {},
    {.one_sample = true},
    {.samples = {{2, 160, 224}, {3, 192, 256}}},
    {.samples = {{2, 16000, 224}, {3, 17600, 256}}},
    {.image = 224},
    {.image = 256},
    {.image = 384},
    {.image = 512},
    {.image = 640},
    {.image = 518},
    {.image = 448},
    {.image = 336},
    {.image = 320},
    {.image = 288},
    {.image = 240},
    {.image = 192},
    {.image = 160},
    {.image = 128},
    {.image = 112},
    {.image = 96},
    {.image = 64},
    {.image = 32},
};

// Decoders of images that attend to every pixel, or that enlarge their input eight times, have values of many GiB at the usual sizes.
constexpr SizeAttempt kSmall[] = {
    {.samples = {{2, 8, 64}, {3, 9, 96}}, .is_small = true},
    {.samples = {{2, 8, 32}, {3, 9, 64}}, .is_small = true},
};

bool is_image_size(const Shape& shape, int d) { return shape.rank() == 4 && d >= 2; }

bool is_open_image(const Shape& shape) {
  return shape.rank() == 4 && shape[1] < 0 && shape[2] < 0 && shape[3] < 0;
}

bool is_open_row(const Shape& shape) {
  return (shape.rank() == 2 || shape.rank() == 3) && shape[shape.rank() - 1] < 0;
}

void add_sizes(const Tensor& weights, std::vector<s64>& sizes) {
  constexpr size_t kMostSizes = 12;
  for (const s64 size : weights.shape()) {
    const bool known = std::ranges::find(sizes, size) != sizes.end();
    if (size > 1 && !known && sizes.size() < kMostSizes) sizes.push_back(size);
  }
}

// Sizes that the first weights of a network have, in their order: one of them is what it takes, where its file leaves open how long rows are
// (exporters that name every dimension).
std::vector<s64> sizes_of_weights(const Graph& graph) {
  constexpr size_t kMostNodes = 200;
  std::vector<s64> sizes;
  for (const Node& node : std::span(graph.nodes).first(std::min(graph.nodes.size(), kMostNodes))) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor* weights = graph.constant_input(node, i);
      if (weights != nullptr && weights->shape().rank() >= 2) add_sizes(*weights, sizes);
    }
  }
  return sizes;
}

s64 size_at(const Shape& shape, int d, const SampleSizes& sizes) {
  if (d == 0) return sizes.batch;
  return is_image_size(shape, d) ? sizes.image : sizes.other;
}

// Dimensions of one number are of one size wherever they stand: the batch may be the second dimension of a state.
std::map<s64, s64> sizes_of_numbers(const Graph& graph, const SampleSizes& sizes) {
  std::map<s64, s64> found;
  for (ValueId id : graph.inputs) {
    const Shape& shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] >= Shape::kDynamic) continue;
      const s64 size = size_at(shape, d, sizes);
      const auto [at, fresh] = found.emplace(shape[d], size);
      if (!fresh && (size == sizes.batch || at->second == sizes.other)) at->second = size;
    }
  }
  return found;
}

}  // namespace

// Where the channels of an image are open too, as exporters of transformers leave them, and the usual ones are refused, most models take
// colors, some shades of gray.
std::vector<SizeAttempt> attempts_for(const Graph& graph, const std::vector<Shape>& declared) {
  std::vector<SizeAttempt> attempts(std::begin(kAttempts), std::end(kAttempts));
  if (std::ranges::any_of(declared, is_open_row)) {
    for (const int axis : {-1, 1}) {
      for (const s64 size : sizes_of_weights(graph))
        attempts.push_back({.features = size, .axis = axis});
    }
  }
  attempts.insert(attempts.end(), std::begin(kSmall), std::end(kSmall));
  if (std::ranges::none_of(declared, is_open_image)) return attempts;
  std::vector<SizeAttempt> stated;
  for (const s64 channels : {3, 1}) {
    for (SizeAttempt attempt : kAttempts) {
      attempt.channels = channels;
      stated.push_back(attempt);
    }
  }
  attempts.insert(attempts.begin() + 1, stated.begin(), stated.end());
  return attempts;
}

bool has_dynamic_input(const Graph& graph) {
  for (ValueId id : graph.inputs) {
    if (!graph.value(id).type.shape.is_static()) return true;
  }
  return false;
}

std::vector<Shape> sample_shapes(const Graph& graph, const SampleSizes& sizes, s64 single) {
  const std::map<s64, s64> numbered = sizes_of_numbers(graph, sizes);
  std::vector<Shape> shapes;
  for (ValueId id : graph.inputs) {
    Shape shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] >= 0) continue;
      const auto known = numbered.find(shape[d]);
      const s64 size = known != numbered.end() ? known->second : size_at(shape, d, sizes);
      shape[d] = shape[d] == single ? 1 : size;
    }
    shapes.push_back(shape);
  }
  return shapes;
}

std::vector<Shape> stated_shapes(const std::vector<Shape>& declared, const SizeAttempt& attempt) {
  std::vector<Shape> shapes = declared;
  for (Shape& shape : shapes) {
    if (attempt.one_sample && shape.rank() > 0 && shape[0] < 0) shape[0] = 1;
    if (attempt.channels > 0 && is_open_image(shape)) shape[1] = attempt.channels;
    if (attempt.features > 0 && is_open_row(shape)) {
      const int axis = attempt.axis < 0 ? shape.rank() + attempt.axis : attempt.axis;
      if (shape[axis] < 0) shape[axis] = attempt.features;
    }
    for (int d = 0; attempt.image > 0 && d < shape.rank(); ++d) {
      if (is_image_size(shape, d) && shape[d] < 0) shape[d] = attempt.image;
    }
  }
  return shapes;
}

std::set<s64> independent_sizes(const Graph& graph) {
  std::map<s64, size_t> holders;
  std::set<s64> images;
  size_t dynamic = 0;
  for (ValueId id : graph.inputs) {
    const Shape& shape = graph.value(id).type.shape;
    std::set<s64> sizes;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] < 0) (is_image_size(shape, d) ? images : sizes).insert(shape[d]);
    }
    if (!shape.is_static()) ++dynamic;
    for (s64 size : sizes) ++holders[size];
  }
  std::set<s64> independent;
  for (const auto& [size, count] : holders) {
    if (count < dynamic && !images.contains(size)) independent.insert(size);
  }
  return independent;
}

std::vector<Shape> unequal_images(const Graph& graph, const SampleSizes& sizes) {
  constexpr s64 kApart = 32;
  std::map<s64, s64> images;
  for (ValueId id : graph.inputs) {
    const Shape& shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] < Shape::kDynamic && is_image_size(shape, d))
        images.emplace(shape[d], sizes.image + kApart * static_cast<s64>(images.size()));
    }
  }
  if (images.size() < 2) return {};
  std::vector<Shape> shapes = sample_shapes(graph, sizes);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& open = graph.value(graph.inputs[i]).type.shape;
    for (int d = 0; d < open.rank(); ++d) {
      if (const auto at = images.find(open[d]); at != images.end()) shapes[i][d] = at->second;
    }
  }
  return shapes;
}

}  // namespace octet
