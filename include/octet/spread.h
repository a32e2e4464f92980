// SPDX-License-Identifier: Apache-2.0
// One engine on several devices: all GPUs of a machine, of one kind or of several.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet {

// The devices that a list names: "cuda:0,cuda:1", "cpu", or "cuda:all", which is every GPU that can be used. Throws Error(invalid_argument) for a
// name that no device has and one that is there twice, Error(unsupported) where one cannot be used, and where "cuda:all" is none.
std::vector<std::string> devices_named(const std::string& names);

struct SpreadOptions {
  std::vector<std::string> devices = {"cpu"};  // a context on each; one may be named several times
  int threads = 1;                             // of each context
  std::shared_ptr<const Tuning> tuning = nullptr;
};

// Contexts that take work as they have time for it. Any number of threads may call it at once.
//
// A device that is lost, or whose memory is too small for a run, is left out from then on: what it had not given runs on the others, and
// left_out() says why. Only when the last one fails so is that the caller's Error.
class Spread {
 public:
  // Throws as Engine::make_context(), and Error(invalid_argument) where no device is named.
  Spread(const Engine& engine, const SpreadOptions& options);
  ~Spread();
  Spread(Spread&&) noexcept;
  Spread& operator=(Spread&&) noexcept;

  // One run, by the first context that is idle. As Context::run().
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  // Rows that know nothing of each other, all inputs' first dimension: in runs of so many as `rows` says, of which the last is filled up, on as many
  // contexts as there are. 0: one run for each, or what the engine fixes. Throws Error(unsupported) for an output that has no row for each.
  std::vector<Tensor> run_rows(std::span<const Tensor> inputs, int64_t rows = 0);

  // Contexts that work.
  int contexts() const;
  struct LeftOut {
    std::string device;
    std::string why;
  };
  std::vector<LeftOut> left_out() const;
  // How many runs each device has done, in the order of SpreadOptions::devices.
  std::vector<int64_t> runs() const;

  struct Impl;  // Octet's own

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet
