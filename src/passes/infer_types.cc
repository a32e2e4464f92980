// SPDX-License-Identifier: Apache-2.0
#include "passes/infer_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/check.h"
#include "passes/sample_sizes.h"

namespace octet {
namespace {

bool has_types_from_data(const Propagated& types) {
  return std::ranges::find(types.from_data, true) != types.from_data.end();
}

SampledTypes sample(const Graph& graph, const SizePair& samples, PropagateOptions options) {
  SampledTypes types;
  options.sample = 5;
  types.first = propagate(graph, sample_shapes(graph, samples.first), options);
  if (!has_dynamic_input(graph) && !has_types_from_data(types.first)) {
    types.second = types.first;
    return types;
  }
  options.sample = 7;
  types.second = propagate(graph, sample_shapes(graph, samples.second), options);
  return types;
}

// Larger by more than what models divide sizes by, and no multiples of it; smaller ones where the model has positions for no more.
constexpr SampleSizes kFar[] = {{5, 20011, 672}, {5, 467, 672}, {5, 67, 224}, {5, 13, 224}};

std::vector<Propagated> sample_far(const Graph& graph, PropagateOptions options) {
  if (!has_dynamic_input(graph)) return {};
  options.sample = 401;
  options.fold_bytes = PropagateOptions{}.fold_bytes;  // sizes are asked, not weights
  for (const SampleSizes& sizes : kFar) {
    std::optional<FoldingBudget> trial;  // each has all that is left, and takes nothing of it
    PropagateOptions attempt = options;
    if (options.budget != nullptr) attempt.budget = &trial.emplace(*options.budget);
    try {
      return {propagate(graph, sample_shapes(graph, sizes), attempt)};
    } catch (const Error&) {
      continue;
    }
  }
  return {};
}

// Attempts take steps of the budget only where they succeed: with too few left, types would stay unknown, which no size contradicts. Behind
// the first, shapes alone are asked before weights are folded: most attempts end there.
class Attempts {
 public:
  Attempts(const Graph& graph, const PropagateOptions& options)
      : graph_(graph), options_(options) {}

  SampledTypes run(const SizePair& samples) {
    if (options_.budget == nullptr) return sample(graph_, samples, options_);
    PropagateOptions shapes_alone = options_;
    shapes_alone.fold_bytes = kBytesOfShapes;
    if (tried_++ > 0) attempt(samples, shapes_alone);
    std::pair<SampledTypes, FoldingBudget> found = attempt(samples, options_);
    *options_.budget = found.second;
    return std::move(found.first);
  }

  // Those that failed took as much as all folding may: constants in which hours lie are not folded for each again.
  bool took_enough() const {
    return options_.budget != nullptr && wasted_ > options_.budget->left();
  }

 private:
  static constexpr s64 kBytesOfShapes = 4096;

  // With what is left of the budget behind it.
  std::pair<SampledTypes, FoldingBudget> attempt(const SizePair& samples,
                                                 PropagateOptions options) {
    FoldingBudget trial = *options_.budget;
    options.budget = &trial;
    try {
      SampledTypes types = sample(graph_, samples, options);
      return {std::move(types), trial};
    } catch (const Error&) {
      wasted_ += options_.budget->left() - trial.left();
      throw;
    }
  }

  const Graph& graph_;
  const PropagateOptions& options_;
  size_t tried_ = 0;
  f64 wasted_ = 0;
};

std::vector<Shape> input_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (ValueId id : graph.inputs) shapes.push_back(graph.value(id).type.shape);
  return shapes;
}

void set_input_shapes(Graph& graph, const std::vector<Shape>& shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) graph.value(graph.inputs[i]).type.shape = shapes[i];
}

// Other sizes may help where the model refuses these.
bool refuses_sizes(const Error& error) {
  return error.code() == Error::Code::invalid_model || error.code() == Error::Code::unsupported ||
         error.code() == Error::Code::invalid_argument;
}

// Smaller ones may help where values of the usual sizes would pass the limit.
bool passes_limit(const Error& error) { return error.code() == Error::Code::out_of_memory; }

// The error of the usual sizes, with the option that states others.
[[noreturn]] void fail_with_sizes(const Graph& graph, const Error& error) {
  Error said(error.code(), error.message(), "CompileOptions.input_shapes");
  for (const std::string& line : error.context()) said.add_context(line);
  const std::vector<Shape> shapes = sample_shapes(graph, kUsualSizes.first);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Value& input = graph.value(graph.inputs[i]);
    if (input.type.shape.is_static()) continue;
    said.add_context(fmt::format("taking {} for input '{}', whose sizes the model leaves open",
                                 to_string(shapes[i]), input.name));
  }
  throw std::move(said);
}

// Leaves the sizes that the attempt states in the graph's inputs, and the samples in `samples`.
SampledTypes sample_somehow(Graph& graph, SizePair& samples, const PropagateOptions& options) {
  samples = kUsualSizes;
  if (!has_dynamic_input(graph)) return sample(graph, samples, options);
  const std::vector<Shape> declared = input_shapes(graph);
  std::vector<std::vector<Shape>> tried;
  std::optional<Error> first;
  Attempts attempts(graph, options);
  bool over_limit = false;
  for (const SizeAttempt& attempt : attempts_for(graph, declared)) {
    if (attempt.is_small != over_limit) continue;
    set_input_shapes(graph, stated_shapes(declared, attempt));
    std::vector<Shape> sizes = sample_shapes(graph, attempt.samples.first);
    std::ranges::copy(sample_shapes(graph, attempt.samples.second), std::back_inserter(sizes));
    if (std::ranges::find(tried, sizes) != tried.end()) continue;
    tried.push_back(std::move(sizes));
    try {
      samples = attempt.samples;
      return attempts.run(samples);
    } catch (const Error& error) {
      if (!first) first = error;
      over_limit = over_limit || passes_limit(error);
      if ((!over_limit && !refuses_sizes(error)) || attempts.took_enough()) break;
    }
  }
  set_input_shapes(graph, declared);
  fail_with_sizes(graph, *first);
}

// Sizes under which dimensions differ that are equal in the two samples by chance alone: one input's batch is 1 and the
// other's is not, what depends on data has one size here and another there. What the model refuses cannot happen.
std::vector<Propagated> telling_samples(const Graph& graph, const SampleSizes& sizes,
                                        bool from_data, PropagateOptions options) {
  constexpr size_t kMostSamples = 8;
  std::vector<Propagated> samples;
  size_t tried = 0;  // each costs a walk over the graph, those that the model refuses too
  const auto add = [&](const std::vector<Shape>& shapes) {
    if (tried++ >= kMostSamples) return;
    try {
      samples.push_back(propagate(graph, shapes, options));
    } catch (const Error&) {
      return;
    }
  };
  options.sample = 5;
  options.distinct_samples = from_data;
  options.fold_bytes = PropagateOptions{}.fold_bytes;  // types are asked, not weights
  if (from_data) add(sample_shapes(graph, sizes));
  if (const std::vector<Shape> shapes = unequal_images(graph, sizes); !shapes.empty()) add(shapes);
  for (s64 size : independent_sizes(graph)) add(sample_shapes(graph, sizes, size));
  return samples;
}

// Gives dimensions that are equal in every sample one number, and others another.
class Merger {
 public:
  Merger(const SampledTypes& types, std::vector<Propagated> telling)
      : types_(types), telling_(std::move(telling)) {}

  // SizePair of data may disagree even about rank and element type.
  TensorType type_of(ValueId id) {
    const TensorType &first = types_.first.types[id], &second = types_.second.types[id];
    const Shape &a = first.shape, &b = second.shape;
    if (first.dtype != second.dtype || a.rank() != b.rank()) return {first.dtype, Shape::unknown()};
    Shape shape = a;
    for (int d = 0; d < a.rank(); ++d) {
      if (a[d] != b[d] || differs_far(id, d)) shape[d] = number_of(id, d, {a[d], b[d]});
    }
    return {first.dtype, shape};
  }

 private:
  bool differs_far(ValueId id, int d) const {
    const Shape& near = types_.first.types[id].shape;
    return std::ranges::any_of(types_.far, [&](const Propagated& sample) {
      const Shape& shape = sample.types[id].shape;
      return shape.rank() == near.rank() && shape[d] != near[d];
    });
  }

  s64 number_of(ValueId id, int d, std::vector<s64> sizes) {
    for (const std::vector<Propagated>* samples : {&types_.far, &std::as_const(telling_)}) {
      for (const Propagated& sample : *samples) {
        const Shape& shape = sample.types[id].shape;
        sizes.push_back(d < shape.rank() ? shape[d] : Shape::kDynamic);
      }
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
  SizePair samples = kUsualSizes;
  SampledTypes types = sample_somehow(graph, samples, options);
  types.far = sample_far(graph, options);
  const bool from_data = has_types_from_data(types.first);
  Merger merger(types, telling_samples(graph, samples.first, from_data, options));
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (!graph.is_constant(id)) graph.value(id).type = merger.type_of(id);
  }
  return types;
}

OpenSizes::OpenSizes(const Graph& imported) {
  if (has_dynamic_input(imported)) imported_ = imported;
}

// The walk that infer_types() makes first: what it says names the node.
std::string OpenSizes::refusal() const {
  FoldingBudget budget(*imported_);
  try {
    sample(*imported_, kUsualSizes, {.keep_dequantize = true, .budget = &budget});
  } catch (const Error& error) {
    const std::string place = error.context().empty() ? "" : " (" + error.context().front() + ")";
    return error.message() + place;
  }
  return "no others were found to fit";
}

std::string OpenSizes::settled(const Graph& graph) const {
  if (!imported_) return {};
  std::string sizes;
  OCTET_CHECK(graph.inputs.size() == imported_->inputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& now = graph.value(graph.inputs[i]);
    const Shape& open = imported_->value(imported_->inputs[i]).type.shape;
    const Shape& shape = now.type.shape;
    bool same = open.rank() == shape.rank();
    for (int d = 0; same && d < open.rank(); ++d) same = (open[d] < 0) == (shape[d] < 0);
    if (same) continue;
    sizes += fmt::format("{}input '{}' {} is {} now", sizes.empty() ? "" : ", ", now.name,
                         to_string(open), to_string(shape));
  }
  if (sizes.empty()) return {};
  return fmt::format("sizes that the model leaves open are fixed: {}; others it refuses: {}", sizes,
                     refusal());
}

void forget_size_numbers(Graph& graph) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    Shape& shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) shape[d] = std::max(shape[d], Shape::kDynamic);
  }
}

}  // namespace octet
