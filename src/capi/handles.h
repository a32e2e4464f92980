// SPDX-License-Identifier: Apache-2.0
// What the opaque types of octet/octet.h are.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "octet/engine.h"
#include "octet/input_profile.h"
#include "octet/octet.h"

struct octet_error {
  octet_status status = OCTET_OK;
  std::string message;
  std::string text;    // with its context
  std::string option;  // as octet.h calls it
  std::vector<std::string> context;
};

struct octet_bytes {
  std::string data;
};

struct octet_stop {
  std::stop_source source;
};

// Numbers of one input's channels, each kind one after another.
struct octet_channel_numbers {
  std::vector<double> min, max, mean, deviation;
};

struct octet_engine {
  explicit octet_engine(octet::Engine e);

  octet::Engine engine;
  std::vector<octet::TensorInfo> inputs, outputs;
  std::optional<std::string> preprocess;  // JSON
  // Found when somebody asks.
  mutable std::once_flag asked;
  mutable octet::KnownInputs known;
  mutable std::vector<octet_channel_numbers> channels;
};

struct octet_pool {
  std::shared_ptr<octet::ThreadPool> pool;
};

struct octet_context {
  octet_context(const octet_engine& made_of, octet::Context made);

  std::vector<octet::TensorInfo> inputs, outputs;
  octet::Context context;
  std::atomic<bool> busy = false;
  // Of the present run; kept so that the next one allocates nothing.
  std::vector<octet::TensorView> from;
  std::vector<octet::MutableTensorView> to;
};

struct octet_results {
  std::vector<octet::Tensor> tensors;
};

struct octet_memory {
  std::shared_ptr<const void> owner;
  void* data = nullptr;
  uint64_t bytes = 0;
};
