// SPDX-License-Identifier: Apache-2.0
#include "onnx/wire.h"

#include <optional>
#include <vector>

#include "core/check.h"

namespace octet {
namespace {

enum class Kind : u8 {
  leaf,
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse,
  value_info,
  type,
  tensor_type,
  nested_type,
  map_type,
  shape,
  dim,
  entry,
  opset,
  function
};

struct Child {
  Kind parent;
  u32 field;
  Kind kind;
};

// Which length-delimited fields hold messages (see onnx.proto); all others are strings, bytes or packed numbers.
constexpr Child kChildren[] = {
    {Kind::model, 7, Kind::graph},       {Kind::model, 8, Kind::opset},
    {Kind::model, 25, Kind::function},   {Kind::graph, 1, Kind::node},
    {Kind::graph, 5, Kind::tensor},      {Kind::graph, 11, Kind::value_info},
    {Kind::graph, 12, Kind::value_info}, {Kind::graph, 13, Kind::value_info},
    {Kind::graph, 15, Kind::sparse},     {Kind::node, 5, Kind::attribute},
    {Kind::attribute, 5, Kind::tensor},  {Kind::attribute, 6, Kind::graph},
    {Kind::attribute, 10, Kind::tensor}, {Kind::attribute, 11, Kind::graph},
    {Kind::attribute, 14, Kind::type},   {Kind::attribute, 15, Kind::type},
    {Kind::attribute, 22, Kind::sparse}, {Kind::attribute, 23, Kind::sparse},
    {Kind::tensor, 13, Kind::entry},     {Kind::sparse, 1, Kind::tensor},
    {Kind::sparse, 2, Kind::tensor},     {Kind::value_info, 2, Kind::type},
    {Kind::type, 1, Kind::tensor_type},  {Kind::type, 4, Kind::nested_type},
    {Kind::type, 5, Kind::map_type},     {Kind::type, 8, Kind::tensor_type},
    {Kind::type, 9, Kind::nested_type},  {Kind::nested_type, 1, Kind::type},
    {Kind::map_type, 2, Kind::type},     {Kind::tensor_type, 2, Kind::shape},
    {Kind::shape, 1, Kind::dim},         {Kind::function, 7, Kind::node},
    {Kind::function, 9, Kind::opset},    {Kind::function, 11, Kind::attribute},
};

// Upper bounds of what the generated classes take (AttributeProto, 248 bytes, is the largest), allocation included.
constexpr s64 kMessageBytes = 320;
constexpr s64 kStringBytes = 48;
constexpr s64 kNumberBytes = 16;  // a repeated number, with the list's room to grow

// Repeated numbers: packed, one takes a byte of the file and eight of memory, and twice that while the list grows.
bool may_be_packed(Kind parent, u32 field) {
  if (parent == Kind::attribute) return field == 7 || field == 8;
  if (parent == Kind::sparse) return field == 3;
  return parent == Kind::tensor && field != 6 && field != 8 && field != 9;
}

Kind child_kind(Kind parent, u32 field) {
  for (const Child& child : kChildren) {
    if (child.parent == parent && child.field == field) return child.kind;
  }
  return Kind::leaf;
}

class Walker {
 public:
  explicit Walker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  s64 walk() {
    open_.push_back({Kind::model, bytes_.size()});
    while (!open_.empty()) {
      if (at_ == open_.back().end) {
        open_.pop_back();
      } else {
        field();
      }
    }
    return memory_;
  }

 private:
  struct Message {
    Kind kind;
    size_t end;
  };

  void field() {
    field_start_ = at_;
    const u64 tag = varint();
    const u64 number = tag >> 3;
    if (number == 0 || number >= u64{1} << 29) corrupt("a field number is out of range");
    if (open_.size() == 1) check_top_level(number, tag & 7);
    memory_ += kNumberBytes;
    switch (tag & 7) {
      case 0:
        varint();
        return;
      case 1:
        skip(8);
        return;
      case 2:
        length_delimited(static_cast<u32>(number));
        return;
      case 5:
        skip(4);
        return;
      default:
        corrupt("an unknown wire type");
    }
  }

  void length_delimited(u32 number) {
    const u64 length = varint();
    const u64 left = open_.back().end - at_;
    if (length > left) {
      corrupt(fmt::format("field {} declares {} bytes, {} are left", number, length, left));
    }
    const Kind kind = child_kind(open_.back().kind, number);
    if (kind == Kind::leaf) {
      const bool numbers = may_be_packed(open_.back().kind, static_cast<u32>(number));
      memory_ += kStringBytes + static_cast<s64>(length) * (numbers ? 8 : 1);
      skip(length);
      return;
    }
    memory_ += kMessageBytes;
    open_.push_back({kind, at_ + length});
    if (open_.size() > kMaxMessageDepth) {
      fail(Error::Code::invalid_model,
           "the model is nested deeper than {} messages at byte {} (subgraphs within subgraphs or "
           "types within "
           "types); flatten it before exporting",
           kMaxMessageDepth, field_start_);
    }
  }

  u64 varint() {
    u64 value = 0;
    for (u32 shift = 0; shift < 70; shift += 7) {
      if (at_ == open_.back().end) corrupt("a number is cut off");
      const u64 byte = std::to_integer<u64>(bytes_[at_++]);
      if (shift == 63 && byte > 1) corrupt("a number has more than 64 bits");
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    corrupt("a number has more than 64 bits");
  }

  void skip(u64 length) {
    if (length > open_.back().end - at_) corrupt("a field is cut off");
    at_ += length;
  }

  void check_top_level(u64 number, u64 wire_type) {
    constexpr u64 kStrings[] = {2, 3, 4, 6, 7, 8, 14, 20, 25, 26};
    bool known = (number == 1 || number == 5) && wire_type == 0;
    for (u64 s : kStrings) known = known || (number == s && wire_type == 2);
    if (known) {
      looks_like_model_ = true;
    } else if (!looks_like_model_) {
      corrupt("the first field is none of a model's");
    }
  }

  [[noreturn]] void corrupt(std::string_view what) const {
    if (!looks_like_model_) {
      fail(Error::Code::invalid_model, "not an ONNX model: at byte {}, {}", field_start_, what);
    }
    fail(Error::Code::invalid_model,
         "truncated or corrupt protobuf at byte {} of {}: {}; copy the file again", field_start_,
         bytes_.size(), what);
  }

  std::span<const std::byte> bytes_;
  std::vector<Message> open_;
  size_t at_ = 0;
  size_t field_start_ = 0;
  s64 memory_ = 0;
  bool looks_like_model_ = false;
};

}  // namespace

s64 scan_model(std::span<const std::byte> bytes) { return Walker(bytes).walk(); }

}  // namespace octet
