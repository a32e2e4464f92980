// SPDX-License-Identifier: Apache-2.0
// What becomes of each QuantizeLinear and DequantizeLinear of a model: here, in TensorRT and in ONNX Runtime.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

enum class QdqRole : uint8_t { activation, weights, bias, lone_quantize };
std::string_view to_string(QdqRole role);

struct QdqNote {
  std::string rule;     // "R4": of docs/qdq.md; empty where none speaks of it
  std::string runtime;  // that it is about: "octet", "tensorrt", "onnxruntime"
  bool blocks = false;  // a layer is not INT8 there because of it, or the file is refused
  std::string text;     // one sentence with the way out
};

// A DequantizeLinear and what makes its codes; or a QuantizeLinear whose codes no DequantizeLinear reads.
struct QdqPair {
  QdqRole role = QdqRole::activation;
  std::string quantize;    // the node; empty where the codes are constants or inputs
  std::string dequantize;  // the node; empty for a lone QuantizeLinear
  std::string tensor;      // what is quantized
  bool int8 = false;       // all who read it here compute on its codes
  std::string fate;        // here, in one sentence
  std::vector<QdqNote> notes;
};

struct QdqLint {
  std::vector<QdqPair> pairs;  // in the order of the DequantizeLinear nodes
  std::vector<QdqNote> notes;  // about layers, and about the model as a whole
};

// Notes of all kinds that block.
int64_t count_blocking(const QdqLint& lint, std::string_view runtime);

}  // namespace octet
