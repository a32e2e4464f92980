// SPDX-License-Identifier: Apache-2.0
// com.microsoft DynamicQuantizeLSTM(x, codes of W, codes of R, bias, lengths, h, c, peepholes, scales and zero points of W, the same of R): LSTM by the real
// weights that the codes stand for. Codes are [directions, input, 4 * hidden], where LSTM has the last two axes the other way.
#include "core/check.h"
#include "ops/quantized/epilogue.h"
#include "ops/shared/contrib.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

enum : size_t { kX, kW, kR, kBias, kLengths, kH, kC, kPeepholes, kWScale, kWZero, kRScale, kRZero };

// A scale or zero point for each direction, or for each column of each.
struct PerColumn {
  s64 directions, columns;
  bool each;

  PerColumn(const Tensor& codes, const Tensor& of)
      : directions(codes.shape()[0]), columns(codes.shape()[2]), each(of.elements() != directions) {
    if (!each || of.elements() == directions * columns) return;
    fail(Error::Code::invalid_model, "scales or zero points are {}, expected {} or {}x{}",
         to_string(of.type()), directions, directions, columns);
  }
  s64 at(s64 direction, s64 column) const {
    return each ? direction * columns + column : direction;
  }
};

// Codes with their scales and zero points.
class Weights {
 public:
  Weights(const NodeParser& parser, size_t codes, size_t scale, const char* what)
      : codes_(known_input(parser, codes, what)),
        scale_tensor_(known_reals(parser, scale, "scales")) {
    if (codes_.shape().rank() != 3 || (codes_.dtype() != Dtype::u8 && codes_.dtype() != Dtype::s8))
      fail(Error::Code::invalid_model, "{} are {}, expected codes [directions, input, 4 * hidden]",
           what, to_string(codes_.type()));
    if (!parser.has_input(scale + 1)) return;
    zeros_ = &known_input(parser, scale + 1, "zero points");
    if (zeros_->dtype() != codes_.dtype())
      fail(Error::Code::invalid_model, "zero points are {}, expected {}", to_string(zeros_->type()),
           dtype_name(codes_.dtype()));
  }

  // As LSTM has them.
  Tensor reals() const {
    const Shape& shape = codes_.shape();
    Tensor result(Dtype::f32, Shape{shape[0], shape[2], shape[1]});
    const auto y = result.mutable_as<f32>();
    const FloatInput scales(view(scale_tensor_));
    const PerColumn scale_of(codes_, scale_tensor_),
        zero_of(codes_, zeros_ == nullptr ? scale_tensor_ : *zeros_);
    for (s64 row = 0; row < shape[0] * shape[2]; ++row) {
      const s64 direction = row / shape[2], column = row % shape[2];
      const s32 zero =
          zeros_ == nullptr
              ? 0
              : code_at(view(*zeros_), static_cast<size_t>(zero_of.at(direction, column)));
      const f32 scale = scales[scale_of.at(direction, column)];
      for (s64 i = 0; i < shape[1]; ++i) {
        const s32 code = code_at(
            view(codes_), static_cast<size_t>((direction * shape[1] + i) * shape[2] + column));
        y[static_cast<size_t>(row * shape[1] + i)] = static_cast<f32>(code - zero) * scale;
      }
    }
    return result;
  }

 private:
  const Tensor& codes_;
  const Tensor& scale_tensor_;
  const Tensor* zeros_ = nullptr;
};

void parse(NodeParser& parser) {
  parser.node.attrs.erase("layout");  // ONNX Runtime's has none
  Tensor w = Weights(parser, kW, kWScale, "weights of the input").reals();
  Tensor r = Weights(parser, kR, kRScale, "weights of the state").reals();
  Node& node = parser.node;
  node.inputs.resize(kWScale);
  parser.set_input(kW, std::move(w));
  parser.set_input(kR, std::move(r));
  parser.note_real_weights();
  while (node.inputs.back() == kNoValue) node.inputs.pop_back();
  parser.become("LSTM");
}

}  // namespace

extern constinit const OpDef kDynamicQuantizeLSTM =
    contrib_operator("DynamicQuantizeLSTM", {11, 12}, parse, {0, 3});
}  // namespace octet
