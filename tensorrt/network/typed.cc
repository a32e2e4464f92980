// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/network/typed.h"

#include "tensorrt/network/layer_data.h"
#include "tensorrt/network/network.h"

namespace octet_trt {
namespace {

bool is_real(DataType type) {
  const octet::Dtype dtype = to_octet(type);
  return dtype == octet::Dtype::f32 || dtype == octet::Dtype::f16 || dtype == octet::Dtype::bf16;
}

// The first of the inputs that are real; layers whose reals have several types are wrong in TensorRT.
DataType type_of_inputs(const LayerCore& layer, size_t first = 0) {
  for (size_t i = first; i < layer.inputs.size(); ++i) {
    if (layer.inputs[i] == nullptr) continue;
    const DataType type = layer.inputs[i]->getType();
    if (is_real(type)) return type;
  }
  return DataType::kFLOAT;
}

template <class Layer>
const LayerOf<Layer>& as(const LayerCore& layer) {
  return dynamic_cast<const LayerOf<Layer>&>(layer);
}

DataType type_carried_by(const LayerCore& layer) {
  switch (layer.kind()) {
    case LayerType::kCONSTANT:
      return as<IConstantLayer>(layer).getWeights().type;
    case LayerType::kCAST:
      return as<ICastLayer>(layer).getToType();
    case LayerType::kFILL:
      return as<IFillLayer>(layer).getToType();
    case LayerType::kIDENTITY:
      if (!layer.output_types.empty() && layer.output_types[0]) return *layer.output_types[0];
      return type_of_inputs(layer);
    case LayerType::kDEQUANTIZE: {  // as its scale, where nothing else is asked for
      const DataType asked = as<IDequantizeLayer>(layer).getToType();
      return asked == DataType::kFLOAT ? type_of_inputs(layer, 1) : asked;
    }
    default:
      return type_of_inputs(layer);
  }
}

}  // namespace

bool Network::is_strongly_typed() const {
#if NV_TENSORRT_MAJOR >= 10
  return getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
#else
  return false;
#endif
}

void carry_types(LayerCore& layer) {
  const DataType type = type_carried_by(layer);
  for (const auto& output : layer.outputs) {
    output->carried.reset();
    if (output->type.dtype == octet::Dtype::f32 && is_real(type)) output->carried = type;
  }
}

}  // namespace octet_trt
