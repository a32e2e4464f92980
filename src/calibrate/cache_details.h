// SPDX-License-Identifier: Apache-2.0
// The JSON beside a calibration cache: where its ranges came from, and all that was seen of every tensor. Untrusted: every
// field is checked before it is used.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/histogram.h"
#include "core/layer_loss.h"
#include "octet/input_profile.h"
#include "octet/preprocess.h"
#include "octet/range.h"

namespace octet {

struct TensorDetails {
  Range range;  // with what was seen
  Histogram histogram;
  std::vector<s8> exponents =
      {};  // channels stand for 2^exponent times the model's; empty: for the model's
};

struct CacheDetails {
  std::string model_hash;
  std::string data_hash;  // empty: not known
  std::string data;       // as the user named it
  s64 samples = 0;
  std::string device = {};  // the chip that ran the samples; empty: the CPU
  std::optional<Preprocess> preprocess;
  std::vector<InputProfile> inputs;    // empty: an older Octet did not say
  std::vector<LayerLoss> losses = {};  // empty: none was measured
  std::vector<TensorDetails> tensors;
};

// Numbers read back equal. One line for each tensor.
std::string write_cache_details(const CacheDetails& details);
// Throws Error(invalid_argument) naming `file` and the tensor.
CacheDetails read_cache_details(std::string_view text, const std::string& file);

}  // namespace octet
