// SPDX-License-Identifier: Apache-2.0
// A context that runs samples through the float graph, one after another, and counts what the values hold that are to be observed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/sample_feed.h"
#include "octet/engine.h"
#include "pipeline/observe.h"
#include "plan/prepared_store.h"
#include "runtime/body_runs.h"
#include "runtime/model.h"
#include "runtime/value_watch.h"

namespace octet {

// One for each value, and for each of every body.
struct Seen {
  std::vector<TensorObservation> values;
  std::vector<std::vector<TensorObservation>> bodies;

  explicit Seen(const Observed& observed);
  void clear();
};

// What all runs of the same samples share.
struct SampleModel {
  std::shared_ptr<const Model> model;  // with a reader for each value that is observed
  std::shared_ptr<PreparedStore> store;
  std::string device;
  size_t outputs = 0;  // of the graph itself: the first of the model's

  explicit SampleModel(const Observed& observed, std::string device = "cpu");
};

// How many more runs of so many bytes each the memory limit has room for; a quarter of what is left stays for what runs do not know.
s64 more_that_fit(s64 bytes);

class SampleRun final : private ValueWatch {
 public:
  // Both live longer.
  SampleRun(const Observed& observed, const SampleModel& shared);
  SampleRun(const SampleRun&) = delete;
  SampleRun& operator=(const SampleRun&) = delete;

  // Plans for such inputs. What a second of these takes beside this one; nothing where a run alone can tell.
  std::optional<s64> bytes_of_another(std::span<const Tensor> inputs);
  // The outputs of the graph, where it keeps them.
  std::span<const Tensor> run(const FedSample& sample, std::span<const Tensor> inputs);

  Seen& counted() { return counted_; }  // by the runs since it was cleared

 private:
  void seen(size_t index, const Tensor& value) override;
  BodyWatch watch_of_bodies();

  const Observed& observed_;
  const SampleModel& shared_;
  Seen counted_;
  BodyWatch bodies_;
  Context context_;
  const FedSample* sample_ = nullptr;  // that is being run
  bool looked_ = false;                // at a value of the run
  std::vector<bool> by_channels_;      // of each value that is observed
  bool planned_ = false;  // the types of the outputs follow from the shapes of the inputs
  std::vector<Shape> shapes_;
  std::vector<Tensor> outputs_;
};

}  // namespace octet
