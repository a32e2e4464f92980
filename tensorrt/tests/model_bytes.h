// SPDX-License-Identifier: Apache-2.0
// Bytes of small ONNX models, field by field: also such as no exporter writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trt_test {

// Fields of protocol buffers, as few as a small model needs.
inline std::string number(int field, uint64_t value) {
  std::string out;
  const auto varint = [&](uint64_t rest) {
    for (; rest >= 0x80; rest >>= 7) out.push_back(static_cast<char>(rest | 0x80));
    out.push_back(static_cast<char>(rest));
  };
  varint(static_cast<uint64_t>(field) << 3);
  varint(value);
  return out;
}

inline std::string text(int field, const std::string& value) {
  std::string out = number(field, value.size());
  out[0] = static_cast<char>(out[0] | 2);
  return out + value;
}

inline std::string real(int field, float value) {
  std::string out(1, static_cast<char>(field << 3 | 5));
  return out + std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string value_of(const std::string& name, const std::vector<int>& sizes) {
  std::string dims;
  for (const int size : sizes) dims += text(1, number(1, static_cast<uint64_t>(size)));
  return text(1, name) + text(2, text(1, number(1, 1) + text(2, dims)));
}

inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output, const std::string& rest = "") {
  std::string out;
  for (const std::string& input : inputs) out += text(1, input);
  return out + text(2, output) + text(3, op + "_" + output) + text(4, op) + rest;
}

// One node from x to y, both of 2x2 numbers.
inline std::string model_of_node(const std::string& one) {
  const std::string graph = text(1, one) + text(2, "g") + text(11, value_of("x", {2, 2})) +
                            text(12, value_of("y", {2, 2}));
  return number(1, 8) + text(7, graph) + text(8, number(2, 17));
}

}  // namespace trt_test
