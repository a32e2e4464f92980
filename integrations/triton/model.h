// SPDX-License-Identifier: Apache-2.0
// One version of a model: its engine, what requests look like, and what its instances share.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "batch_plan.h"
#include "clip_metrics.h"
#include "metrics.h"
#include "octet/engine.h"
#include "runner.h"
#include "settings.h"
#include "signature.h"

namespace octet::triton {

// Of the whole process.
struct Backend {
  explicit Backend(TRITONBACKEND_Backend* server);

  BackendSettings settings;
  MetricFamilies families;
};

class ServedModel {
 public:
  // Loads the engine, completes the configuration where the server asks for it, and holds both against each other.
  explicit ServedModel(TRITONBACKEND_Model* server);

  const Engine& engine() const { return engine_; }
  const Signature& signature() const { return signature_; }
  const ModelMetrics& metrics() const { return metrics_; }
  const std::string& title() const { return title_; }  // "resnet50 version 2", for the log

  // Null where nothing is counted.
  ClipMetrics* clip_metrics() { return clip_metrics_.get(); }
  // How many rows of requests are counted together; 0: a request as it is.
  int64_t counted_rows() const;

  // What an instance of the configuration runs on.
  std::string device_for(TRITONBACKEND_ModelInstance* instance) const;
  int threads_for(const std::string& device);

  // Plans for whatever sizes are known, and a run of each. The first instance measures what a batch costs; one after another, so that they
  // do not disturb each other.
  BatchPlan warm_up(Runner& runner);
  // Throws Error(invalid_argument) where rows of a batch depend on each other. It is tried until a trial ran, or sizes that are no guess did
  // not run: then the configuration is believed. Any instances may call it.
  void check_rows(Runner& runner, const SampleShapes& sample, bool guessed);
  // Throws Error(invalid_argument) where a batch of `rows` does not give as many rows of each output.
  void check_rows(const Runner::Prepared& prepared, int64_t rows) const;

 private:
  ServedModel(TRITONBACKEND_Model* server, const Backend& backend);

  Json config() const;
  void complete(const Backend& backend);
  void watch_clipping(const Backend& backend);
  void refuse_batches(const std::string& reason) const;
  int64_t batch_to_offer(const Backend& backend);
  std::vector<SampleShapes> known_samples() const;
  std::vector<int64_t> batch_sizes() const;
  void prepare(Runner& runner, const SampleShapes& sample, std::vector<BatchCost>& costs) const;

  TRITONBACKEND_Model* server_;
  std::string title_;
  int default_threads_;
  ModelSettings settings_;
  Engine engine_;
  Signature signature_;
  ModelMetrics metrics_;
  Metric info_;
  std::unique_ptr<ClipMetrics> clip_metrics_;
  std::mutex trying_;
  std::optional<std::string> mixing_;  // why rows depend on each other; empty: they do not
  std::mutex warming_;
  std::vector<BatchCost> costs_;  // empty: not measured yet
};

}  // namespace octet::triton
