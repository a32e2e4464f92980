// SPDX-License-Identifier: Apache-2.0
// Layers of quantization, detection and sampling.
#include "emit.h"

namespace octet_trt {
namespace {

using octet::Dtype;

// Without a zero point ONNX means u8; TensorRT means s8 around zero.
std::string zero_points(Emission& out) {
  const int64_t count = std::max<int64_t>(1, volume(out.dims(1)));
  const bool is_scalar = out.dims(1).nbDims == 0 || count == 1;
  const std::string zeros =
      out.floats(std::vector<float>(static_cast<size_t>(is_scalar ? 1 : count), 0.0F),
                 is_scalar ? std::vector<int64_t>{} : std::vector<int64_t>{count});
  return out.cast(zeros, Dtype::s8);
}

OnnxAttributes axis_of(int32_t axis, const Emission& out) {
  if (volume(out.dims(1)) == 1) return {};
  return {{"axis", out.axis(axis < 0 ? 0 : axis)}};
}

}  // namespace

void emit_layer(const IQuantizeLayer& layer, Emission& out) {
  const std::string scale = out.in(1);
  out.last("QuantizeLinear", {out.in(0), scale, zero_points(out)}, axis_of(layer.getAxis(), out));
}

void emit_layer(const IDequantizeLayer& layer, Emission& out) {
  out.last("DequantizeLinear", {out.in(0), out.in(1), zero_points(out)},
           axis_of(layer.getAxis(), out));
}

// It computes nothing; what it asserts is checked by whoever reads the shapes.
void emit_layer(const IAssertionLayer&, Emission&) {}

void emit_layer(const IGridSampleLayer& layer, Emission& out) {
  constexpr const char* kModes[] = {"nearest", "bilinear", "bicubic"};
  const char* padding = "zeros";
  if (layer.getSampleMode() == SampleMode::kCLAMP) padding = "border";
  if (layer.getSampleMode() == SampleMode::kREFLECT) padding = "reflection";
  out.last("GridSample", {out.in(0), out.in(1)},
           {{"mode", std::string(kModes[static_cast<size_t>(layer.getInterpolationMode()) % 3])},
            {"padding_mode", std::string(padding)},
            {"align_corners", int64_t{layer.getAlignCorners()}}});
}

// Boxes NxBx4 and scores NxBxC; ONNX has the scores as NxCxB.
void emit_layer(const INMSLayer& layer, Emission& out) {
  if (out.dims(0).nbDims != 3)
    refuse("layer '" + out.layer().name + "': boxes of their own for each class are not supported");
  const std::string scores =
      out.node("Transpose", {out.in(1)}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  std::vector<std::string> inputs = {out.in(0), scores, out.in_as_int64(2)};
  for (size_t i = 3; i < 5; ++i) inputs.push_back(out.has(i) ? out.in(i) : out.scalar(0));
  const bool centers = layer.getBoundingBoxFormat() == BoundingBoxFormat::kCENTER_SIZES;
  const std::string chosen =
      out.node("NonMaxSuppression", inputs, {{"center_point_box", int64_t{centers}}});
  out.last("Cast", {chosen}, {{"to", onnx_type_of(Dtype::s32)}});
  const std::string shape = out.node("Shape", {chosen});
  const std::string count =
      out.node("Gather", {shape, out.node("Squeeze", {out.integers({0})})}, {{"axis", int64_t{0}}});
  out.last("Cast", {count}, {{"to", onnx_type_of(Dtype::s32)}}, 1);
}

}  // namespace octet_trt
