// SPDX-License-Identifier: Apache-2.0
#include "passes/infer_types.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/check.h"

namespace octet {
namespace {

struct SampleSizes {
  s64 batch;
  s64 other;  // any dimension that is neither batch nor the size of an image
  s64 image;  // height and width: a multiple of 32, as detectors ask
};

constexpr SampleSizes kFirst{2, 8, 224}, kSecond{3, 9, 256};

bool is_image_size(const Shape& shape, int d) { return shape.rank() == 4 && d >= 2; }

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

// The dynamic dimension `single` is 1.
std::vector<Shape> sample_shapes(const Graph& graph, const SampleSizes& sizes, s64 single = 0) {
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

bool has_dynamic_input(const Graph& graph) {
  for (ValueId id : graph.inputs) {
    if (!graph.value(id).type.shape.is_static()) return true;
  }
  return false;
}

bool has_types_from_data(const Propagated& types) {
  return std::ranges::find(types.from_data, true) != types.from_data.end();
}

SampledTypes sample(const Graph& graph, PropagateOptions options) {
  SampledTypes types;
  options.sample = 5;
  types.first = propagate(graph, sample_shapes(graph, kFirst), options);
  if (!has_dynamic_input(graph) && !has_types_from_data(types.first)) {
    types.second = types.first;
    return types;
  }
  options.sample = 7;
  types.second = propagate(graph, sample_shapes(graph, kSecond), options);
  return types;
}

void fix_batch(Graph& graph) {
  for (ValueId id : graph.inputs) {
    Shape& shape = graph.value(id).type.shape;
    if (shape.rank() > 0 && shape[0] < 0) shape[0] = 1;
  }
}

SampledTypes sample_or_fix_batch(Graph& graph, const PropagateOptions& options) {
  if (!has_dynamic_input(graph)) return sample(graph, options);
  std::optional<Error> dynamic_error;
  try {
    return sample(graph, options);
  } catch (const Error& error) {
    dynamic_error = error;
  }
  Graph fixed = graph;
  fix_batch(fixed);
  try {
    SampledTypes types = sample(fixed, options);
    graph = std::move(fixed);
    return types;
  } catch (const Error&) {
    throw *dynamic_error;
  }
}

// The dynamic dimensions that inputs do not share. Sizes of images are left out: pyramids of one pixel add what no other
// image lets them add.
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

// Sizes under which dimensions differ that are equal in the two samples by chance alone: one input's batch is 1 and the
// other's is not, what depends on data has one size here and another there. What the model refuses cannot happen.
std::vector<Propagated> telling_samples(const Graph& graph, bool from_data,
                                        PropagateOptions options) {
  constexpr size_t kMostSamples = 8;
  std::vector<Propagated> samples;
  size_t tried = 0;  // each costs a walk over the graph, those that the model refuses too
  const auto add = [&](s64 single) {
    if (tried++ >= kMostSamples) return;
    try {
      samples.push_back(propagate(graph, sample_shapes(graph, kFirst, single), options));
    } catch (const Error&) {
      return;
    }
  };
  options.sample = 5;
  options.distinct_samples = from_data;
  options.fold_bytes = PropagateOptions{}.fold_bytes;  // types are asked, not weights
  if (from_data) add(0);
  for (s64 size : independent_sizes(graph)) add(size);
  return samples;
}

// Gives dimensions that are equal in every sample one number, and others another.
class Merger {
 public:
  Merger(const SampledTypes& types, std::vector<Propagated> telling)
      : types_(types), telling_(std::move(telling)) {}

  // Samples of data may disagree even about rank and element type.
  TensorType type_of(ValueId id) {
    const TensorType &first = types_.first.types[id], &second = types_.second.types[id];
    const Shape &a = first.shape, &b = second.shape;
    if (first.dtype != second.dtype || a.rank() != b.rank()) return {first.dtype, Shape::unknown()};
    Shape shape = a;
    for (int d = 0; d < a.rank(); ++d) {
      if (a[d] != b[d]) shape[d] = number_of(id, d, {a[d], b[d]});
    }
    return {first.dtype, shape};
  }

 private:
  s64 number_of(ValueId id, int d, std::vector<s64> sizes) {
    for (const Propagated& sample : telling_) {
      const Shape& shape = sample.types[id].shape;
      sizes.push_back(d < shape.rank() ? shape[d] : Shape::kDynamic);
    }
    const s64 next = Shape::kDynamic - 1 - static_cast<s64>(numbers_.size());
    return numbers_.emplace(std::move(sizes), next).first->second;
  }

  const SampledTypes& types_;
  std::vector<Propagated> telling_;
  std::map<std::vector<s64>, s64> numbers_;
};

}  // namespace

SampledTypes infer_types(Graph& graph, const PropagateOptions& options) {
  SampledTypes types = sample_or_fix_batch(graph, options);
  Merger merger(types, telling_samples(graph, has_types_from_data(types.first), options));
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (!graph.is_constant(id)) graph.value(id).type = merger.type_of(id);
  }
  return types;
}

void forget_size_numbers(Graph& graph) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    Shape& shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) shape[d] = std::max(shape[d], Shape::kDynamic);
  }
}

}  // namespace octet
