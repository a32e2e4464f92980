// SPDX-License-Identifier: Apache-2.0
// Error of every value that two engines of one model both compute, inside of bodies too.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/check.h"
#include "core/monitor.h"
#include "core/rounding.h"
#include "graph/bodies.h"
#include "graph/graph.h"
#include "graph/op_traits.h"
#include "inspect/compare/taps.h"
#include "octet/error_stats.h"
#include "octet/inspect.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "runtime/context.h"
#include "runtime/equalized.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

std::vector<std::string> common_values(const Graph& reference, const Graph& tested) {
  const auto in_reference = tappable_values(reference);
  const std::unordered_set<std::string> known(in_reference.begin(), in_reference.end());
  std::vector<std::string> names = tappable_values(tested);
  std::erase_if(names, [&](const std::string& name) { return !known.contains(name); });
  return names;
}

Engine tapped_engine(const Engine& engine, std::span<const std::string> names) {
  auto model = std::make_shared<Model>(Inside::model(engine));
  model->graph = tap_graph(model->graph, names);
  return Inside::engine(std::move(model));
}

// Which layer of the tested engine computes each value, and in which precision.
std::vector<ValueError> errors_without_numbers(const Graph& graph,
                                               std::span<const std::string> names,
                                               const std::string& prefix = "") {
  std::unordered_map<std::string, const Node*> producers;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != kNoValue) producers.emplace(graph.value(id).name, &node);
    }
  }
  std::vector<ValueError> errors;
  for (const std::string& name : names) {
    const Node& node = *producers.at(name);
    ValueError error;
    error.value = prefix + name;
    error.layer = prefix + node.name;
    error.precision = node.decision.precision;
    // Inside of bodies layers run in rounds: none is the first of the model.
    error.order = prefix.empty() ? &node - graph.nodes.data() : std::numeric_limits<s64>::max();
    errors.push_back(std::move(error));
  }
  return errors;
}

int64_t count_beyond(std::span<const f32> expected, std::span<const f32> got,
                     const Tolerance& tolerance) {
  int64_t count = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const f64 wanted = expected[i], error = std::abs(f64{got[i]} - wanted);
    const bool close =
        error <= tolerance.absolute || error <= tolerance.relative * std::abs(wanted);
    const bool same = expected[i] == got[i] || (std::isnan(expected[i]) && std::isnan(got[i]));
    count += close || same ? 0 : 1;
  }
  return count;
}

void add_value(const Tensor& expected, const Tensor& got, const CompareOptions& options,
               ValueError& error, ErrorStats& stats) {
  if (!(expected.type() == got.type())) {
    fail(Error::Code::invalid_argument,
         "value '{}' is {} in one engine and {} in the other; are they of one model?", error.value,
         to_string(expected.type()), to_string(got.type()));
  }
  stats.add(expected.as<f32>(), got.as<f32>());
  error.beyond += count_beyond(expected.as<f32>(), got.as<f32>(), options.tolerance);
}

void set_numbers(ValueError& error, const ErrorStats& stats) {
  error.sqnr_db = stats.sqnr_db();
  error.max_abs = stats.max_abs();
  error.cosine = stats.cosine();
  error.elements = stats.elements();
}

std::vector<ValueError> worst_first(std::vector<ValueError> errors) {
  std::ranges::stable_sort(errors, std::less(), &ValueError::sqnr_db);
  return errors;
}

// The values that bodies of both engines compute, round by round. Of a loop that does not go round equally often the rounds that both
// have are compared.
class BodyErrors {
 public:
  BodyErrors(const Graph& reference, const Graph& tested, const CompareOptions& options)
      : options_(options) {
    collect(reference, tested, "");
    stats_.resize(errors_.size());
    reference_.seen = [this](const Graph& body, size_t index, const Tensor& value) {
      const Value& codes = body.value(reference_.values.at(&body)[index]);
      rounds_[first_.at(&body) + index].push_back(reals(codes, value));
    };
    tested_.seen = [this](const Graph& body, size_t index, const Tensor& value) {
      const Value& codes = body.value(tested_.values.at(&body)[index]);
      const size_t at = first_.at(&body) + index;
      const size_t round = met_[at]++;
      if (round < rounds_[at].size())
        add_value(rounds_[at][round], reals(codes, value), options_, errors_[at], stats_[at]);
    };
  }
  BodyErrors(const BodyErrors&) = delete;  // the watches refer to it
  BodyErrors& operator=(const BodyErrors&) = delete;

  const BodyWatch& reference() const { return reference_; }
  const BodyWatch& tested() const { return tested_; }

  // The reference runs each sample first.
  void begin_sample() {
    rounds_.assign(errors_.size(), {});
    met_.assign(errors_.size(), 0);
  }

  // Of the values that were computed.
  std::vector<ValueError> errors() {
    std::vector<ValueError> seen;
    for (size_t i = 0; i < errors_.size(); ++i) {
      set_numbers(errors_[i], stats_[i]);
      if (errors_[i].elements > 0) seen.push_back(std::move(errors_[i]));
    }
    return seen;
  }

 private:
  void collect(const Graph& reference, const Graph& tested, const std::string& prefix) {
    std::unordered_map<std::string_view, const Node*> nodes;
    for (const Node& node : reference.nodes) {
      if (has_body(node)) nodes.emplace(node.name, &node);
    }
    for (const Node& node : tested.nodes) {
      const auto same = has_body(node) ? nodes.find(node.name) : nodes.end();
      if (same == nodes.end() || same->second->op != node.op) continue;
      const std::vector<NamedBody> references = bodies_of(*same->second);
      for (const NamedBody& body : bodies_of(node)) {
        const auto other = std::ranges::find(references, body.name, &NamedBody::name);
        if (other == references.end()) continue;
        add_body(*other->graph, *body.graph, fmt::format("{}{}.{}/", prefix, node.name, body.name));
      }
    }
  }

  void add_body(const Graph& reference, const Graph& tested, const std::string& prefix) {
    const std::vector<std::string> names = common_values(reference, tested);
    first_[&reference] = first_[&tested] = errors_.size();
    reference_.values[&reference] = ids_of(reference, names);
    tested_.values[&tested] = ids_of(tested, names);
    std::ranges::move(errors_without_numbers(tested, names, prefix), std::back_inserter(errors_));
    collect(reference, tested, prefix);
  }

  static std::vector<ValueId> ids_of(const Graph& graph, const std::vector<std::string>& names) {
    std::unordered_map<std::string_view, ValueId> ids;
    for (ValueId id = 0; id < graph.value_count(); ++id) ids.emplace(graph.value(id).name, id);
    std::vector<ValueId> found;
    for (const std::string& name : names) found.push_back(ids.at(name));
    return found;
  }

  static Tensor reals(const Value& codes, const Tensor& value) {
    if (value.dtype() == Dtype::f32) return value;
    Tensor real(Dtype::f32, value.shape());
    const auto dst = real.mutable_as<f32>();
    for (size_t i = 0; i < dst.size(); ++i)
      dst[i] = dequantize(code_at(view(value), i), codes.quant->scale, codes.quant->zero_point);
    return real;
  }

  const CompareOptions& options_;
  std::vector<ValueError> errors_;  // of all bodies, one after the other
  std::vector<ErrorStats> stats_;
  std::unordered_map<const Graph*, size_t> first_;  // of each body's values
  std::vector<std::vector<Tensor>> rounds_;  // of each value in this sample, by the reference
  std::vector<size_t> met_;                  // rounds of the tested engine so far
  BodyWatch reference_, tested_;
};

// 2^-exponent of each channel.
Tensor inverses(const std::vector<s8>& exponents) {
  Tensor factors(Dtype::f32, {1, std::ssize(exponents), 1, 1});
  std::ranges::transform(exponents, factors.mutable_as<f32>().begin(),
                         [](s8 exponent) { return std::ldexp(1.0f, -exponent); });
  return factors;
}

// The value as the network has it: itself, where its channels are what they were.
ValueId as_in_network(Graph& graph, ValueId id, const std::vector<s8>* exponents) {
  const TensorType type = graph.value(id).type;
  if (exponents == nullptr || type.shape.rank() != 4 || type.shape[1] != std::ssize(*exponents))
    return id;
  Node node;
  node.op = find_op("Mul");
  OCTET_CHECK(node.op != nullptr);
  node.name = graph.value(id).name + "/network";
  node.inputs = {id, graph.add_constant(node.name + "/factors", inverses(*exponents))};
  node.outputs = {graph.add_value(node.name, type)};
  node.decision = {Precision::f32, ReasonCode::inspected_value, "shows an inner value"};
  graph.nodes.push_back(node);
  return node.outputs[0];
}

}  // namespace

Engine with_inner_values(const Engine& engine) {
  auto model = std::make_shared<Model>(Inside::model(engine));
  const std::vector<ValueId> own = model->graph.outputs;
  std::vector<std::string> names;
  for (ValueId id : own) names.push_back(model->graph.value(id).name);
  for (std::string& name : tappable_values(model->graph)) {
    if (std::find(names.begin(), names.begin() + std::ssize(own), name) ==
        names.begin() + std::ssize(own))
      names.push_back(std::move(name));
  }
  Graph tapped = tap_graph(model->graph, names);
  std::copy(own.begin(), own.end(), tapped.outputs.begin());
  for (size_t i = own.size(); i < names.size(); ++i) {
    const auto equalized = model->equalized.find(names[i]);
    const ValueId id =
        as_in_network(tapped, tapped.outputs[i],
                      equalized == model->equalized.end() ? nullptr : &equalized->second);
    tapped.outputs[i] = id;
    if (tapped.value(id).name == names[i]) continue;
    // Dequantized, or divided: what it was made of gives its name away.
    tapped.rename(tapped.find_value(names[i]), names[i] + "/codes");
    tapped.rename(id, network_name(model->equalized, names[i]));
  }
  model->equalized.clear();
  model->graph = std::move(tapped);
  return Inside::engine(std::move(model));
}

namespace {

// A value that both models have, by its name in each: channels that were equalized in one are what they were.
struct Pair {
  std::string reference, tested;
};

// What its values are called there, by the network's names.
std::unordered_map<std::string, std::string> by_network_names(const Model& model) {
  std::unordered_map<std::string, std::string> own;
  for (std::string& name : tappable_values(model.graph)) {
    std::string plain = network_name(model.equalized, name);
    own.emplace(std::move(plain), std::move(name));
  }
  return own;
}

std::vector<Pair> common_pairs(const Model& reference, const Model& tested) {
  const std::unordered_map<std::string, std::string> known = by_network_names(reference);
  std::vector<Pair> pairs;
  for (std::string& name : tappable_values(tested.graph)) {
    const auto at = known.find(network_name(tested.equalized, name));
    if (at != known.end()) pairs.push_back({at->second, std::move(name)});
  }
  return pairs;
}

std::vector<std::string> own_names(const Model& model, std::span<const std::string> names) {
  const std::unordered_map<std::string, std::string> known = by_network_names(model);
  std::vector<std::string> own;
  for (const std::string& name : names) own.push_back(known.at(name));
  return own;
}

std::vector<std::string> names_of(const std::vector<Pair>& pairs, std::string Pair::*side) {
  std::vector<std::string> names;
  for (const Pair& pair : pairs) names.push_back(pair.*side);
  return names;
}

}  // namespace

std::vector<ValueError> compare(const Engine& reference, const Engine& tested,
                                const SampleSource& next, const CompareOptions& options) {
  const Model &truth = Inside::model(reference), &model = Inside::model(tested);
  const Graph& graph = model.graph;
  const std::vector<Pair> pairs = common_pairs(truth, model);
  const std::vector<std::string> names = names_of(pairs, &Pair::tested);
  if (names.empty()) {
    fail(Error::Code::invalid_argument,
         "the two engines have no value of one name; are they of one model?");
  }
  std::vector<ValueError> errors = errors_without_numbers(graph, names);
  for (ValueError& error : errors) error.value = network_name(model.equalized, error.value);
  std::vector<ErrorStats> stats(names.size());
  BodyErrors bodies(truth.graph, graph, options);
  Context expected = tapped_engine(reference, names_of(pairs, &Pair::reference))
                         .make_context({.threads = options.threads});
  Context got = tapped_engine(tested, names).make_context({.threads = options.threads});
  Inside::impl(expected).bodies.watch(&bodies.reference());
  Inside::impl(got).bodies.watch(&bodies.tested());
  s64 done = 0;
  check_stop(options.monitor);
  for (std::vector<Tensor> inputs; next(inputs);) {
    bodies.begin_sample();
    const std::vector<Tensor> wanted = expected.run(inputs), results = got.run(inputs);
    for (size_t i = 0; i < stats.size(); ++i)
      add_value(network_value(truth.equalized, pairs[i].reference, wanted[i]),
                network_value(model.equalized, pairs[i].tested, results[i]), options, errors[i],
                stats[i]);
    report_progress(options.monitor, "compare", ++done);
  }
  for (size_t i = 0; i < errors.size(); ++i) set_numbers(errors[i], stats[i]);
  std::ranges::move(bodies.errors(), std::back_inserter(errors));
  return worst_first(std::move(errors));
}

std::vector<std::string> inner_values(const Engine& engine) {
  const Model& model = Inside::model(engine);
  std::vector<std::string> names;
  for (const std::string& name : tappable_values(model.graph))
    names.push_back(network_name(model.equalized, name));
  return names;
}

std::vector<ValueError> compare(std::span<const std::string> names, const ValueRunner& reference,
                                const Engine& tested, const SampleSource& next,
                                const CompareOptions& options) {
  const Model& model = Inside::model(tested);
  const std::vector<std::string> own = own_names(model, names);
  std::vector<ValueError> errors = errors_without_numbers(model.graph, own);
  for (ValueError& error : errors) error.value = network_name(model.equalized, error.value);
  std::vector<ErrorStats> stats(names.size());
  Context got = tapped_engine(tested, own).make_context({.threads = options.threads});
  s64 done = 0;
  check_stop(options.monitor);
  for (std::vector<Tensor> inputs; next(inputs);) {
    const std::vector<Tensor> wanted = reference(inputs), results = got.run(inputs);
    for (size_t i = 0; i < stats.size(); ++i) {
      if (wanted[i].type() == results[i].type())
        add_value(wanted[i], network_value(model.equalized, own[i], results[i]), options, errors[i],
                  stats[i]);
    }
    report_progress(options.monitor, "compare", ++done);
  }
  for (size_t i = 0; i < errors.size(); ++i) set_numbers(errors[i], stats[i]);
  std::erase_if(errors, [](const ValueError& error) { return error.elements == 0; });
  return worst_first(std::move(errors));
}

const ValueError* first_difference(std::span<const ValueError> errors) {
  const ValueError* first = nullptr;
  for (const ValueError& error : errors) {
    if (error.beyond > 0 && (first == nullptr || error.order < first->order)) first = &error;
  }
  return first;
}

}  // namespace octet
