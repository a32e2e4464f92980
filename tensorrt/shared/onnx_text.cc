// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/shared/onnx_text.h"

#include <algorithm>

#include "integrations/wire/wire.h"
#include "octet/error.h"
#include "octet/input.h"

namespace octet_trt {

using octet_wire::read_packed;
using octet_wire::WireField;
using octet_wire::WireReader;
using octet_wire::WireWriter;
namespace {

using octet::Dtype;

struct AttributeWriter {
  WireWriter& out;
  void operator()(int64_t value) const {
    out.integer(3, value);
    out.integer(20, 2);
  }
  void operator()(float value) const {
    out.real(2, value);
    out.integer(20, 1);
  }
  void operator()(const std::string& value) const {
    out.bytes(4, value);
    out.integer(20, 3);
  }
  void operator()(const std::vector<int64_t>& values) const {
    for (int64_t value : values) out.integer(8, value);
    out.integer(20, 7);
  }
  void operator()(const std::vector<float>& values) const {
    for (float value : values) out.real(7, value);
    out.integer(20, 6);
  }
};

OnnxNode read_node(std::string_view bytes) {
  OnnxNode node;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    const std::string text(field->bytes);
    switch (field->number) {
      case 1:
        node.inputs.push_back(text);
        break;
      case 2:
        node.outputs.push_back(text);
        break;
      case 3:
        node.name = text;
        break;
      case 4:
        node.op = text;
        break;
      case 7:
        node.domain = text;
        break;
      default:
        node.rest += field->whole;
    }
  }
  return node;
}

std::string string_field(std::string_view message, int number) {
  WireReader reader(message);
  std::string text;
  while (const auto field = reader.next())
    if (field->number == number) text = field->bytes;
  return text;
}

void read_graph(std::string_view bytes, OnnxModel& model) {
  std::vector<std::pair<std::string, std::string>> inputs;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    const std::string text(field->bytes);
    switch (field->number) {
      case 1:
        model.nodes.push_back(read_node(field->bytes));
        break;
      case 5:
        model.initializers.push_back(text);
        model.initializer_names.push_back(string_field(field->bytes, 8));
        break;
      case 11:
        inputs.emplace_back(string_field(field->bytes, 1), text);
        break;
      case 12:
        model.outputs.push_back(string_field(field->bytes, 1));
        break;
      case 13:
        model.infos.push_back(text);
        break;
      case 15:
        model.sparse.push_back(text);
        break;
      default:
        break;
    }
  }
  for (const auto& [name, info] : inputs) {
    if (std::ranges::find(model.initializer_names, name) != model.initializer_names.end()) continue;
    model.inputs.push_back(name);
    model.input_infos.push_back(info);
  }
}

void read_opset(std::string_view bytes, OnnxModel& model) {
  const std::string domain = string_field(bytes, 1);
  if (!domain.empty() && domain != "ai.onnx") return;
  WireReader reader(bytes);
  while (const auto field = reader.next())
    if (field->number == 2) model.opset = static_cast<int64_t>(field->integer);
}

}  // namespace

int64_t onnx_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return 1;
    case Dtype::u8:
      return 2;
    case Dtype::s8:
      return 3;
    case Dtype::u16:
      return 4;
    case Dtype::s16:
      return 5;
    case Dtype::s32:
      return 6;
    case Dtype::s64:
      return 7;
    case Dtype::boolean:
      return 9;
    case Dtype::f16:
      return 10;
    case Dtype::f64:
      return 11;
    case Dtype::u32:
      return 12;
    case Dtype::u64:
      return 13;
    case Dtype::bf16:
      return 16;
    case Dtype::e4m3fn:
      return 17;
    default:
      break;
  }
  throw octet::Error(octet::Error::Code::unsupported,
                     "no network has values of type " + std::string(dtype_name(dtype)));
}

std::string to_wire(const OnnxAttribute& attribute) {
  WireWriter out;
  out.bytes(1, attribute.name);
  std::visit(AttributeWriter{out}, attribute.value);
  return out.take();
}

std::string to_wire(const OnnxNode& node) {
  WireWriter out;
  for (const std::string& input : node.inputs) out.bytes(1, input);
  for (const std::string& output : node.outputs) out.bytes(2, output);
  out.bytes(3, node.name);
  out.bytes(4, node.op);
  if (!node.domain.empty()) out.bytes(7, node.domain);
  return out.take() + node.rest;
}

std::string value_info(const std::string& name, const octet::TensorType& type) {
  WireWriter shape;
  for (int64_t size : type.shape.dims()) {
    WireWriter dim;
    if (size >= 0) dim.integer(1, size);
    shape.bytes(1, dim.text());
  }
  WireWriter tensor;
  tensor.integer(1, onnx_type_of(type.dtype));
  if (!type.shape.is_unknown()) tensor.bytes(2, shape.text());
  WireWriter holder;
  holder.bytes(1, tensor.text());
  WireWriter out;
  out.bytes(1, name);
  out.bytes(2, holder.text());
  return out.take();
}

std::string tensor_proto(const std::string& name, const octet::TensorType& type,
                         std::string_view raw) {
  WireWriter out;
  for (int64_t size : type.shape.dims()) out.integer(1, size);
  out.integer(2, onnx_type_of(type.dtype));
  out.bytes(8, name);
  out.bytes(9, raw);
  return out.take();
}

OnnxModel read_onnx(std::string_view bytes) {
  OnnxModel model;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 7) {
      read_graph(field->bytes, model);
      continue;
    }
    if (field->number == 8) read_opset(field->bytes, model);
    model.head += field->whole;
  }
  return model;
}

namespace {

Dtype dtype_of(uint64_t onnx) {
  for (int i = 0; i < octet::kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const bool has_number = octet::dtype_bytes(dtype) > 1 || dtype == Dtype::s8 ||
                            dtype == Dtype::u8 || dtype == Dtype::boolean;
    if (has_number && static_cast<uint64_t>(onnx_type_of(dtype)) == onnx) return dtype;
  }
  throw octet::Error(octet::Error::Code::unsupported,
                     "weights of ONNX's type " + std::to_string(onnx));
}

// Elements that are listed one by one: packed, or a field for each.
void append_listed(const WireField& field, Dtype dtype, std::string& raw) {
  const size_t bytes = octet::dtype_bytes(dtype);
  const auto append = [&](uint64_t value) {
    raw.append(reinterpret_cast<const char*>(&value), bytes);
  };
  if (field.type == 5 || field.type == 1 || field.number == 4 || field.number == 10) {
    raw += field.bytes;
  } else if (field.type == 0) {
    append(field.integer);
  } else {
    for (uint64_t value : read_packed(field.bytes)) append(value);
  }
}

}  // namespace

OnnxTensor read_tensor(std::string_view bytes) {
  OnnxTensor tensor;
  std::vector<WireField> listed;
  std::vector<int64_t> dims;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1:
        if (field->type == 0) dims.push_back(static_cast<int64_t>(field->integer));
        for (uint64_t value : read_packed(field->bytes))
          dims.push_back(static_cast<int64_t>(value));
        break;
      case 2:
        tensor.type.dtype = dtype_of(field->integer);
        break;
      case 8:
        tensor.name = field->bytes;
        break;
      case 9:
        tensor.raw = field->bytes;
        break;
      case 4:
      case 5:
      case 7:
      case 10:
        listed.push_back(*field);
        break;
      default:
        break;
    }
  }
  tensor.type.shape = octet::Shape(std::span<const int64_t>(dims));
  for (const WireField& field : listed) append_listed(field, tensor.type.dtype, tensor.raw);
  return tensor;
}

std::string read_file(const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{2} << 30;  // of an ONNX file
  return octet::read_text(path, kMostBytes);
}

std::vector<std::string> dimension_names(std::string_view value_info) {
  std::string shape = string_field(string_field(string_field(value_info, 2), 1), 2);
  std::vector<std::string> names;
  WireReader reader(shape);
  while (const auto field = reader.next())
    if (field->number == 1) names.push_back(string_field(field->bytes, 2));
  return names;
}

}  // namespace octet_trt
