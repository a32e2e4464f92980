// SPDX-License-Identifier: Apache-2.0
// The measuring run of trtexec: streams, warm-up, iterations and duration.
#pragma once

#include <memory>
#include <vector>

#include "octet/engine.h"
#include "octet/tuning.h"
#include "tensorrt/trtexec/options.h"
#include "tensorrt/trtexec/report.h"

namespace octet::cli::trtexec {

struct Subject {
  const Engine& engine;
  std::vector<Tensor> inputs;
  std::vector<Shape> shapes;
  std::shared_ptr<const Tuning> tuning;
  int threads = 1;
};

struct Measured {
  std::vector<Trace> traces;    // of all streams, in the order of their beginnings
  std::vector<Tensor> outputs;  // of the first stream's last run
};

// Contexts of all streams, planned. What fails while they run is thrown.
class Streams {
 public:
  Streams(const Options& options, const Subject& subject);

  std::vector<TensorType> output_types() const { return contexts_.front().output_types(); }
  Measured run();
  // One run of the first stream alone.
  std::vector<Tensor> run_once() { return contexts_.front().run(subject_.inputs); }

 private:
  const Options& options_;
  const Subject& subject_;
  std::vector<Context> contexts_;
};

}  // namespace octet::cli::trtexec
