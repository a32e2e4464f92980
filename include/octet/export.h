// SPDX-License-Identifier: Apache-2.0
// An engine as a standard ONNX model with QuantizeLinear and DequantizeLinear, for every other runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/engine.h"

namespace octet {

// The runtime that the file is for. Each form is standard ONNX, which any runtime may read; TensorRT takes its own form alone.
enum class ExportTarget : uint8_t {
  onnxruntime,  // codes as they are; biases as s32 codes, which ONNX Runtime folds into its integer convolutions
  openvino,  // codes as they are; real biases
  tensorrt,  // s8 with zero point 0 everywhere, Q and DQ on weights, real biases
};
std::string_view to_string(ExportTarget target);
std::optional<ExportTarget> export_target_from(std::string_view name);

struct ExportOptions {
  ExportTarget target = ExportTarget::onnxruntime;
  std::string producer_version = {};  // said in the file
};

struct ExportReport {
  int64_t opset = 0;
  int64_t nodes = 0;
  int64_t quantize = 0;    // QuantizeLinear nodes
  int64_t dequantize = 0;  // DequantizeLinear nodes
  int64_t weights = 0;     // tensors of codes
  int64_t biases = 0;      // as codes
  // Activations whose codes another form had to replace (tensorrt: those that are not s8 with zero point 0): they are coarser there, so
  // that runtime gives other results than the engine.
  std::vector<std::string> coarser;
  std::vector<std::string> kept_float;  // nodes that stay real whatever stands around them
};

// The bytes of an ONNX file. Throws Error(unsupported) for an engine without INT8, one built before engines kept what they were made of, and
// one with nodes that ONNX has no operator for (all are listed).
std::vector<std::byte> export_onnx(const Engine& engine, const ExportOptions& options = {},
                                   ExportReport* report = nullptr);

}  // namespace octet
