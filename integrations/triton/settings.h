// SPDX-License-Identifier: Apache-2.0
// What a model's configuration and the server's command line ask of the backend.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "triton_api.h"

namespace octet::triton {

using Json = nlohmann::json;

// --backend-config=octet,KEY=VALUE
struct BackendSettings {
  int threads =
      0;  // of an instance whose model names none; 0: the processors, shared by the model's instances
  int64_t default_max_batch = 4;  // of models without a configuration; Triton's own key and default
  int64_t memory_limit = 0;       // of the whole process; 0: Octet's default
  double clip_watch = 1;  // percent of one processor's time, of models that name none; 0: none
};

// Sizes of one request without its batch, by input in the engine's order.
using SampleShapes = std::vector<Shape>;

// parameters { key: "KEY" value: { string_value: "VALUE" } }
struct ModelSettings {
  std::optional<int> threads;
  std::string device;  // empty: what the instance group says
  std::vector<int64_t> batch_sizes;
  std::string shapes;  // text: what it means depends on the engine's inputs
  bool warm_up = true;
  std::string precision = "int8";  // of model.onnx
  std::string calibration_cache = "model.cache";
  std::optional<double> clip_watch;  // percent of one processor's time that counting takes
};

// Throw Error(invalid_argument) naming key, value and what was expected.
BackendSettings backend_settings(const Json& config);
ModelSettings model_settings(const Json& config);

// "3x224x224" of each input, "INPUT:" before it where there are several, "," between inputs, ";" between requests.
std::vector<SampleShapes> parse_sample_shapes(const std::string& text,
                                              const std::vector<TensorInfo>& inputs);

// The server's message as JSON.
Json parse_message(TRITONSERVER_Message* message);
// A number of the configuration: protobuf's JSON has those of 64 bits as text.
int64_t whole_number(const Json& value);

}  // namespace octet::triton
