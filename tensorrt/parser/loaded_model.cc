// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/parser/loaded_model.h"

#include "integrations/wire/wire.h"
#include "tensorrt/shared/onnx_text.h"
#include "tensorrt/shared/types.h"

namespace octet_trt {

using octet_wire::WireReader;
using octet_wire::WireWriter;
namespace {

// Fields of ONNX's ModelProto, GraphProto and TensorProto.
constexpr int kGraphOfModel = 7, kTensorOfGraph = 5, kDimsOfTensor = 1, kTypeOfTensor = 2,
              kNameOfTensor = 8;

std::string name_of_tensor(std::string_view tensor) {
  std::string name;
  WireReader reader(tensor);
  while (const auto field = reader.next())
    if (field->number == kNameOfTensor) name = field->bytes;
  return name;
}

// A tensor of the same type and name with other bytes, wherever its own were.
std::string tensor_with(std::string_view tensor, std::string_view raw) {
  std::string head;
  WireReader reader(tensor);
  while (const auto field = reader.next()) {
    if (field->number == kDimsOfTensor || field->number == kTypeOfTensor ||
        field->number == kNameOfTensor)
      head += field->whole;
  }
  WireWriter out;
  out.bytes(9, raw);
  return head + out.text();
}

}  // namespace

void LoadedModel::load(std::string_view bytes, std::string folder) {
  if (is_loaded_) refuse("a model is loaded already");
  std::map<std::string, size_t> sizes;
  for (const std::string& tensor : read_onnx(bytes).initializers) {
    const OnnxTensor read = read_tensor(tensor);
    sizes[read.name] = static_cast<size_t>(read.type.bytes());
  }
  sizes_ = std::move(sizes);
  model_ = bytes;
  folder_ = std::move(folder);
  is_loaded_ = true;
}

void LoadedModel::set(const char* name, const void* data, size_t size) {
  if (!is_loaded_) refuse("no model is loaded; loadModelProto() comes first");
  const std::string wanted = name == nullptr ? "" : name;
  const auto found = sizes_.find(wanted);
  if (found == sizes_.end()) refuse("the model has no weights '" + wanted + "'");
  if (found->second != size || (data == nullptr && size > 0))
    refuse("weights '" + wanted + "' have " + std::to_string(found->second) + " bytes, and " +
           (data == nullptr ? std::string("a null pointer") : std::to_string(size)) + " are given");
  given_[wanted] = {static_cast<const char*>(data), size};
}

std::string LoadedModel::bytes() const {
  if (!is_loaded_) refuse("no model is loaded; loadModelProto() comes first");
  WireWriter graph;
  std::string others;
  WireReader reader(model_);
  while (const auto field = reader.next()) {
    if (field->number == kGraphOfModel) {
      graph.bytes(kGraphOfModel, with_weights(field->bytes));
    } else {
      others += field->whole;
    }
  }
  return others + graph.text();
}

std::string LoadedModel::with_weights(std::string_view graph) const {
  std::string out;
  WireReader reader(graph);
  while (const auto field = reader.next()) {
    const auto given =
        field->number == kTensorOfGraph ? given_.find(name_of_tensor(field->bytes)) : given_.end();
    if (given == given_.end()) {
      out += field->whole;
      continue;
    }
    WireWriter tensor;
    tensor.bytes(kTensorOfGraph, tensor_with(field->bytes, given->second));
    out += tensor.text();
  }
  return out;
}

}  // namespace octet_trt
