// SPDX-License-Identifier: Apache-2.0
// An engine's inputs and outputs in the words of a model configuration.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "settings.h"
#include "triton_api.h"

namespace octet::triton {

struct Signature {
  std::vector<TensorInfo> inputs, outputs;  // the engine's
  int64_t max_batch = 0;    // 0: requests carry whole shapes, and each runs by itself
  int64_t fixed_batch = 0;  // the only one that the engine takes; 0: any
  // By outputs: what the server keeps, and hands in with the next request of the sequence.
  std::vector<bool> states = {};

  bool batched() const { return max_batch > 0; }
  // Whether a run of so many rows takes them where they lie. A GPU takes a batch as one, from staging, whose pages are locked.
  bool runs_by_rows(int64_t size, bool on_gpu) const { return batched() && size > 1 && !on_gpu; }
};

// TYPE_INVALID for a type that requests cannot carry.
TRITONSERVER_DataType server_type(Dtype dtype);
std::string type_name(TRITONSERVER_DataType type);  // "FP32"

std::string text_of(std::span<const int64_t> dims);  // "[1, 3]"

// Whether every input and output begins with a size that is open: the batch, as far as shapes tell.
bool begins_open(const std::vector<TensorInfo>& infos);
// Of the inputs, all the same; 0 where it is open or they differ.
int64_t fixed_batch_of(const std::vector<TensorInfo>& inputs);

// The configuration with the inputs and outputs that it lacks, those of its states apart, and `max_batch`; more than 1 turns dynamic batching on where no scheduler is
// named.
Json completed(Json config, const std::vector<TensorInfo>& inputs,
               const std::vector<TensorInfo>& outputs, int64_t max_batch);

// Throws Error(invalid_argument) that shows both sides where configuration and engine disagree; Error(unsupported) for types that requests
// cannot carry.
Signature agreed(const Json& config, const Engine& engine);

}  // namespace octet::triton
