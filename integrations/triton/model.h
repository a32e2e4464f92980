// SPDX-License-Identifier: Apache-2.0
// One version of a model: its engine, what requests look like, and what its instances share.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "batch_plan.h"
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

  // What an instance of the configuration runs on.
  std::string device_for(TRITONBACKEND_ModelInstance* instance) const;
  int threads_for(const std::string& device);

  // Plans for whatever sizes are known, and a run of each. The first instance measures what a batch costs; one after another, so that they
  // do not disturb each other.
  BatchPlan warm_up(Runner& runner);

 private:
  ServedModel(TRITONBACKEND_Model* server, const Backend& backend);

  Json config() const;
  void complete(const Backend& backend);
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
  std::mutex warming_;
  std::vector<BatchCost> costs_;  // empty: not measured yet
};

}  // namespace octet::triton
