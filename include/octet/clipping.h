// SPDX-License-Identifier: Apache-2.0
// Whether an engine's data have drifted: how many of the values that become codes lie beyond what codes hold, tensor by tensor, beside the
// part of them that did so in calibration. What a run of INT8 clips is gone when its codes are written, so counting is a run of its own, of
// the engine's Q/DQ graph in f32, over some of the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/input_profile.h"

namespace octet {

struct ClippedTensor {
  std::string tensor;  // its name in the model
  CodeSpan codes;      // what lies beyond is clipped; of channels with a scale each the widest
  int64_t values = 0;
  int64_t below = 0;
  int64_t above = 0;
  // The part of calibration's values that lay beyond; nothing where the engine does not know: it saw no data, or an older Octet built it.
  std::optional<double> calibrated = std::nullopt;

  double share() const;  // of `values`; 0 where there are none
};

// Counts by runs of the engine's Q/DQ graph on one thread of the caller's. In the bodies of control flow nothing is counted, nor are codes of
// more or fewer than 8 bits. One thread at a time may use it.
class ClipCounter {
 public:
  // Throws Error(unsupported) for an engine without INT8, or built before engines kept their Q/DQ graph.
  explicit ClipCounter(const Engine& engine);
  ~ClipCounter();
  ClipCounter(ClipCounter&&) noexcept;
  ClipCounter& operator=(ClipCounter&&) noexcept;

  // Plans for these input shapes, as Context::prepare() does.
  void prepare(std::span<const Shape> input_shapes);
  // One run, counted as a whole or, where it throws, not at all.
  void add(std::span<const Tensor> inputs);

  int64_t runs() const;
  // In the order in which the tensors are computed.
  std::vector<ClippedTensor> tensors() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct ClipWatchOptions {
  // The part of one processor's time that counting takes, over 0 and up to 1: behind a run of t seconds the next one waits until
  // t / share have passed.
  double share = 0.01;
  // Told on the watch's own thread of all that was counted so far, behind each run.
  std::function<void(const std::vector<ClippedTensor>&)> counted = nullptr;
};

// The same beside a service, on a thread of its own: of the inputs that it is offered it takes as many as its share of time has room for.
// Any threads may offer.
class ClipWatch {
 public:
  // Throws as ClipCounter does, Error(invalid_argument) for a share out of range, Error(out_of_memory) where no thread can be had.
  explicit ClipWatch(const Engine& engine, ClipWatchOptions options = {});
  // Ends behind the run that it is at.
  ~ClipWatch();
  ClipWatch(const ClipWatch&) = delete;
  ClipWatch& operator=(const ClipWatch&) = delete;

  // Before anything is offered.
  void prepare(std::span<const Shape> input_shapes);
  // Whether inputs would be taken now. It costs a look at a clock.
  bool wants() const;
  // True where they are taken. Inputs whose run fails are not counted.
  bool offer(std::vector<Tensor> inputs);
  // Returns when what was taken is counted, or has failed.
  void finish();

  int64_t runs() const;
  int64_t failures() const;
  std::vector<ClippedTensor> tensors() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What Prometheus reads: octet_values_total, octet_clipped_values_total with the label side ("low", "high"), and the gauge
// octet_calibration_clipped_share; all with the labels model, version and tensor.
struct ClipReport {
  std::string model;
  std::string version;
  std::vector<ClippedTensor> tensors;
};
std::string prometheus_text(std::span<const ClipReport> reports);

}  // namespace octet
