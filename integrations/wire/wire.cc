// SPDX-License-Identifier: Apache-2.0
#include "integrations/wire/wire.h"

#include <bit>
#include <cstring>

#include "octet/error.h"

namespace octet_wire {

namespace {

[[noreturn]] void damaged(size_t at) {
  throw octet::Error(octet::Error::Code::invalid_model,
                     "not a well-formed ONNX model: damaged at byte " + std::to_string(at));
}

}  // namespace

void WireWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(value | 0x80));
  text_.push_back(static_cast<char>(value));
}

void WireWriter::integer(int field, int64_t value) {
  varint(static_cast<uint64_t>(field) << 3);
  varint(static_cast<uint64_t>(value));
}

void WireWriter::real(int field, float value) {
  varint(static_cast<uint64_t>(field) << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  char raw[4];
  std::memcpy(raw, &bits, sizeof raw);
  text_.append(raw, sizeof raw);
}

void WireWriter::bytes(int field, std::string_view value) {
  varint(static_cast<uint64_t>(field) << 3 | 2);
  varint(value.size());
  text_.append(value);
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ >= text_.size()) damaged(at_);
    const auto byte = static_cast<unsigned char>(text_[at_++]);
    value |= shift < 64 ? static_cast<uint64_t>(byte & 0x7f) << shift : 0;
    if (byte < 0x80) return value;
  }
  damaged(at_);
}

std::string_view WireReader::take(uint64_t bytes) {
  if (bytes > text_.size() - at_) damaged(at_);
  const std::string_view taken = text_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

std::optional<WireField> WireReader::next() {
  if (at_ == text_.size()) return std::nullopt;
  const size_t start = at_;
  const uint64_t tag = varint();
  WireField field;
  field.number = static_cast<int>(tag >> 3 & 0x1fffffff);
  field.type = static_cast<int>(tag & 7);
  if (field.type == 0) {
    field.integer = varint();
  } else if (field.type == 2) {
    field.bytes = take(varint());
  } else if (field.type == 1 || field.type == 5) {
    field.bytes = take(field.type == 1 ? 8 : 4);
  } else {
    damaged(start);
  }
  field.whole = text_.substr(start, at_ - start);
  return field;
}

std::vector<uint64_t> read_packed(std::string_view bytes) {
  std::vector<uint64_t> values;
  uint64_t value = 0;
  int shift = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    shift += 7;
    if (byte >= 0x80) {
      if (shift >= 70) damaged(at);
      continue;
    }
    values.push_back(value);
    value = 0;
    shift = 0;
  }
  if (shift != 0) damaged(bytes.size());
  return values;
}

}  // namespace octet_wire
