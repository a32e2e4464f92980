// SPDX-License-Identifier: Apache-2.0
// Error of every value that two engines of one model both compute.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/check.h"
#include "core/monitor.h"
#include "graph/graph.h"
#include "inspect/taps.h"
#include "octet/error_stats.h"
#include "octet/inspect.h"
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
                                               std::span<const std::string> names) {
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
    error.value = name;
    error.layer = node.name;
    error.precision = node.decision.precision;
    errors.push_back(std::move(error));
  }
  return errors;
}

void add_sample(const std::vector<Tensor>& expected, const std::vector<Tensor>& got,
                const std::vector<ValueError>& errors, std::vector<ErrorStats>& stats) {
  for (size_t i = 0; i < stats.size(); ++i) {
    if (!(expected[i].type() == got[i].type())) {
      fail(Error::Code::invalid_argument,
           "value '{}' is {} in one engine and {} in the other; are they of one model?",
           errors[i].value, to_string(expected[i].type()), to_string(got[i].type()));
    }
    stats[i].add(expected[i].as<f32>(), got[i].as<f32>());
  }
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
    const ValueId id = tapped.outputs[i];
    if (tapped.value(id).name == names[i]) continue;
    // Dequantized: the codes give their name away.
    tapped.rename(tapped.find_value(names[i]), names[i] + "/codes");
    tapped.rename(id, names[i]);
  }
  model->graph = std::move(tapped);
  return Inside::engine(std::move(model));
}

std::vector<ValueError> compare(const Engine& reference, const Engine& tested,
                                const SampleSource& next, const CompareOptions& options) {
  const Graph& graph = Inside::model(tested).graph;
  const std::vector<std::string> names = common_values(Inside::model(reference).graph, graph);
  if (names.empty()) {
    fail(Error::Code::invalid_argument,
         "the two engines have no value of one name; are they of one model?");
  }
  std::vector<ValueError> errors = errors_without_numbers(graph, names);
  std::vector<ErrorStats> stats(names.size());
  Context expected = tapped_engine(reference, names).make_context({.threads = options.threads});
  Context got = tapped_engine(tested, names).make_context({.threads = options.threads});
  s64 done = 0;
  check_stop(options.monitor);
  for (std::vector<Tensor> inputs; next(inputs);) {
    add_sample(expected.run(inputs), got.run(inputs), errors, stats);
    report_progress(options.monitor, "compare", ++done);
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    errors[i].sqnr_db = stats[i].sqnr_db();
    errors[i].max_abs = stats[i].max_abs();
    errors[i].cosine = stats[i].cosine();
    errors[i].elements = stats[i].elements();
  }
  std::stable_sort(errors.begin(), errors.end(),
                   [](const auto& a, const auto& b) { return a.sqnr_db < b.sqnr_db; });
  return errors;
}

}  // namespace octet
