// SPDX-License-Identifier: Apache-2.0
// What an ONNX model is and whether it will build: everything that is wrong with it at once, and what would be INT8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/engine.h"
#include "octet/inspect.h"
#include "octet/progress.h"
#include "octet/qdq_lint.h"

namespace octet {

struct CheckOptions {
  std::map<std::string, Shape> input_shapes;  // fixes dynamic dimensions of inputs, by input name
  // What types the build is to be asked for; those of INT8 are judged as the rest of the check is, as if calibrated.
  std::vector<PrecisionConstraint> constraints = {};
  ConstraintMode constraint_mode = ConstraintMode::prefer;
  int threads = 1;
  Monitor monitor = {};
  // Of a model that is given as bytes: where its weights files are; empty: it may have none.
  std::filesystem::path weights_folder = {};
  // Weights files may be links, as long as they end below this folder; empty: links are refused.
  std::filesystem::path weights_root = {};
};

struct ModelCheck {
  struct Operator {
    std::string domain;  // "" is ai.onnx
    std::string name;
    int64_t opset = 0;  // that the model imports; 0: none
    int64_t count = 0;
    bool supported = true;
    std::vector<std::string> nodes;  // of an unsupported one
  };
  struct Problem {
    std::string message;
    std::vector<std::string> context;  // innermost first
    std::string field;                 // as of Error
  };

  std::string producer;
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;
  std::vector<std::string> functions;  // model-local
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::map<std::string, std::vector<std::string>> dim_names;  // of inputs; "" where there is none
  std::vector<Operator> operators;  // unsupported ones first, then by count
  int64_t parameters = 0;           // elements of all weights
  int64_t parameter_bytes = 0;
  bool carries_qdq = false;    // the model brings its own scales
  std::optional<QdqLint> qdq;  // then: what becomes of them

  // As this machine would run it: in FP32 (absent for a model that carries Q/DQ), and in INT8, which is assumed to be
  // calibrated on data that reach every layer. Absent where the model does not get that far.
  std::optional<EngineMemory> f32;
  std::optional<Inspection> int8;
  std::vector<Shape> planned_shapes;  // of the inputs, where they are dynamic with sample sizes

  std::vector<std::string> warnings;
  std::vector<Problem> problems;
  bool builds() const { return problems.empty(); }
};

// Throws Error for a file that cannot be read or is no ONNX model; what is wrong with a model is reported in `problems`.
ModelCheck check(const std::filesystem::path& onnx_file, const CheckOptions& options = {});
ModelCheck check(std::span<const std::byte> onnx_model, const CheckOptions& options = {});

}  // namespace octet
