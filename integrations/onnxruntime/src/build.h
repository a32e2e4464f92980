// SPDX-License-Identifier: Apache-2.0
// From a part of a graph to its engine.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "graph.h"
#include "observation.h"
#include "octet/engine.h"
#include "octet/source_model.h"
#include "options.h"

namespace octet_ort {

// An engine, and what its successor is built of where the first runs are observed.
struct Built {
  octet::Engine engine;
  std::optional<octet::SourceModel> source;            // absent: nothing will be built of it
  std::shared_ptr<Observation> observation = nullptr;  // null: the engine stays
  std::filesystem::path cache = {};  // that the successor's calibration is written to
  std::stop_source stop = std::stop_source(std::nostopstate);  // ends the successor's build
  std::optional<double> accuracy_time = {};                    // of the successor's PrecisionPlan
  double int8_share = 0;  // of multiplications; NaN where there are none, or nobody could tell
  bool has_multiplications = true;
  bool of_file = false;  // built of the model's own file, which ONNX Runtime's rewrites left alone
};

class PartBuilder {
 public:
  PartBuilder(const Host& host, const Options& options, const Log& log)
      : host_(host), options_(options), log_(log) {}

  // `ordinal` tells the parts of a session apart, in files' names. Throws octet::Error.
  std::shared_ptr<Built> build(const Graph& graph, const Part& part, size_t ordinal) const;

 private:
  bool takes_file(const Graph& graph, const Part& part) const;
  octet::SourceModel read(const Graph& graph, const Part& part, size_t ordinal, bool of_file,
                          const octet::CompileOptions& options) const;
  void judge(Built& built) const;

  const Host& host_;
  const Options& options_;
  const Log& log_;
};

// Of several parts the first has the file that the user named; the others' have a number: "model.cache.2".
std::filesystem::path cache_of(const Options& options, size_t ordinal);

}  // namespace octet_ort
