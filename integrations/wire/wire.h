// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, as much as ONNX models need: fields written one after another, fields read with every size checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet_wire {

class WireWriter {
 public:
  void integer(int field, int64_t value);
  void real(int field, float value);
  void bytes(int field, std::string_view value);  // strings and messages
  const std::string& text() const { return text_; }
  size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }

 private:
  void varint(uint64_t value);
  std::string text_;
};

struct WireField {
  int number = 0;
  int type = 0;  // 0: integer, 1: eight bytes, 2: bytes, 5: four bytes
  uint64_t integer = 0;
  std::string_view bytes;
  std::string_view whole;  // with its tag
};

// The fields of one message. Throws octet::Error(invalid_model) where the bytes are none.
class WireReader {
 public:
  explicit WireReader(std::string_view text) : text_(text) {}
  std::optional<WireField> next();

 private:
  uint64_t varint();
  std::string_view take(uint64_t bytes);
  std::string_view text_;
  size_t at_ = 0;
};

// The integers of a packed field.
std::vector<uint64_t> read_packed(std::string_view bytes);

}  // namespace octet_wire
