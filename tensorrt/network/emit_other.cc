// SPDX-License-Identifier: Apache-2.0
// Layers of quantization, detection and sampling.
#include "tensorrt/network/emit.h"

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

template <class Layer>
void refuse_blocks(const Layer& layer, const Emission& out) {
#if NV_TENSORRT_MAJOR >= 10
  if (layer.getBlockShape().nbDims != 0)
    refuse(
        "layer '" + out.layer().name +
        "': scales of blocks are not supported; codes have one for a tensor or for each channel");
#else
  static_cast<void>(layer), static_cast<void>(out);
#endif
}

// Scales are made for one type of codes: those of another would be other numbers.
void refuse_codes(const IQuantizeLayer& layer, const Emission& out) {
  if (layer.getToType() == DataType::kINT8) return;
  refuse("layer '" + out.layer().name + "': codes of " + name_of(layer.getToType()) +
         " are not supported; quantize to INT8 with scales made for it, or leave the layer out");
}

void refuse_reals(const IDequantizeLayer& layer, const Emission& out) {
  const octet::Dtype type = to_octet(layer.getToType());
  if (type == Dtype::f32 || type == Dtype::f16 || type == Dtype::bf16) return;
  refuse("layer '" + out.layer().name + "': codes become FP32, FP16 or BF16, not " +
         name_of(layer.getToType()));
}

OnnxAttributes axis_of(int32_t axis, const Emission& out) {
  if (volume(out.dims(1)) == 1) return {};
  return {{"axis", out.axis(axis < 0 ? 0 : axis)}};
}

}  // namespace

void emit_layer(const IQuantizeLayer& layer, Emission& out) {
  refuse_blocks(layer, out);
  refuse_codes(layer, out);
  const std::string scale = out.in(1);
  out.last("QuantizeLinear", {out.in(0), scale, zero_points(out)}, axis_of(layer.getAxis(), out));
}

void emit_layer(const IDequantizeLayer& layer, Emission& out) {
  refuse_blocks(layer, out);
  refuse_reals(layer, out);
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
  out.last("Cast", {chosen}, {{"to", onnx_type_of(to_octet(indices_type(layer)))}});
  const std::string shape = out.node("Shape", {chosen});
  const std::string count =
      out.node("Gather", {shape, out.node("Squeeze", {out.integers({0})})}, {{"axis", int64_t{0}}});
  out.last("Cast", {count}, {{"to", onnx_type_of(Dtype::s32)}}, 1);
}

#if NV_TENSORRT_MAJOR >= 10
// Pairs of each head, neighbors or halves, turned by the angles of their place.
void emit_layer(const IRotaryEmbeddingLayer& layer, Emission& out) {
  const Dims sizes = out.dims(0);
  const std::string told = "layer '" + out.layer().name + "': ";
  if (sizes.nbDims != 4 || sizes.d[3] < 0)
    refuse(told + "its input is batch, heads, places and a head of known size, not " +
           to_string(sizes));
  const int64_t head = sizes.d[3];
  const int64_t turned = layer.getRotaryEmbeddingDim() == 0 ? head : layer.getRotaryEmbeddingDim();
  if (turned > head || turned % 2 != 0)
    refuse(told + std::to_string(turned) + " numbers of a head of " + std::to_string(head) +
           " are no pairs");
  const auto part = [&](int64_t begin, int64_t end, int64_t step) {
    return out.node("Slice", {out.in(0), out.integers({begin}), out.integers({end}),
                              out.integers({3}), out.integers({step})});
  };
  // For each place, the same for all heads.
  const auto angles = [&](size_t i) {
    const std::string all = out.in(i);
    const std::string of_places =
        out.has(3) ? out.node("Gather", {all, out.in_as_int64(3)}, {{"axis", int64_t{0}}}) : all;
    return out.node("Unsqueeze", {of_places, out.integers({1})});
  };
  const bool neighbors = layer.getInterleaved();
  const std::string a = neighbors ? part(0, turned, 2) : part(0, turned / 2, 1);
  const std::string b = neighbors ? part(1, turned, 2) : part(turned / 2, turned, 1);
  const std::string cosine = angles(1), sine = angles(2);
  const auto product = [&](const std::string& x, const std::string& y) {
    return out.node("Mul", {x, y});
  };
  std::string first = out.node("Sub", {product(cosine, a), product(sine, b)});
  std::string second = out.node("Add", {product(sine, a), product(cosine, b)});
  std::vector<std::string> parts = {first, second};
  if (neighbors) {
    for (std::string& one : parts) one = out.node("Unsqueeze", {one, out.integers({4})});
    const std::string pairs = out.node("Concat", parts, {{"axis", int64_t{4}}});
    parts = {out.node("Reshape", {pairs, out.integers({0, 0, 0, turned})})};
  }
  if (turned < head) parts.push_back(part(turned, head, 1));
  out.last("Concat", parts, {{"axis", int64_t{3}}});
}
#endif

}  // namespace octet_trt
