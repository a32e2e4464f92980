// SPDX-License-Identifier: Apache-2.0
// com.microsoft DynamicQuantizeLSTM(x, codes of W, codes of R, bias, lengths, h, c, peepholes, scales and zero points of W, the same of R): LSTM by the real
// weights that the codes stand for. Codes are [directions, input, 4 * hidden], where LSTM has the last two axes the other way.
#include <optional>

#include "core/check.h"
#include "ops/quantized/quant_axis.h"
#include "ops/shared/contrib.h"
#include "ops/shared/dtypes.h"
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

Tensor real_weights(const NodeParser& parser, size_t weights, size_t scale, const char* what) {
  const Tensor& codes = known_input(parser, weights, what);
  if (codes.shape().rank() != 3 || !is_quantized_dtype(codes.dtype()))
    fail(Error::Code::invalid_model, "{} are {}, expected codes [directions, input, 4 * hidden]",
         what, to_string(codes.type()));
  const Tensor& scale_tensor = known_reals(parser, scale, "scales");
  const FloatInput scales(view(scale_tensor));
  const PerColumn scale_of(codes, scale_tensor);
  const Tensor* zeros =
      parser.has_input(scale + 1) ? &known_input(parser, scale + 1, "zero points") : nullptr;
  if (zeros != nullptr && zeros->dtype() != codes.dtype())
    fail(Error::Code::invalid_model, "zero points are {}, expected {}", to_string(zeros->type()),
         dtype_name(codes.dtype()));
  const PerColumn zero_of(codes, zeros == nullptr ? scale_tensor : *zeros);
  const s64 directions = codes.shape()[0], rows = codes.shape()[1], columns = codes.shape()[2];
  Tensor result(Dtype::f32, Shape{directions, columns, rows});
  const auto y = result.mutable_as<f32>();
  visit_dtype(codes.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, u8> || std::is_same_v<T, s8>) {
      const auto x = codes.as<T>();
      size_t next = 0;
      for (s64 d = 0; d < directions; ++d) {
        for (s64 c = 0; c < columns; ++c) {
          const s32 zero =
              zeros == nullptr ? 0 : zeros->as<T>()[static_cast<size_t>(zero_of.at(d, c))];
          for (s64 r = 0; r < rows; ++r) {
            const s32 code = x[static_cast<size_t>((d * rows + r) * columns + c)];
            y[next++] = static_cast<f32>(code - zero) * scales[scale_of.at(d, c)];
          }
        }
      }
    }
  });
  return result;
}

void parse(NodeParser& parser) {
  Tensor w = real_weights(parser, kW, kWScale, "weights of the input");
  Tensor r = real_weights(parser, kR, kRScale, "weights of the state");
  Node& node = parser.node;
  node.inputs.resize(kWScale);
  parser.set_input(kW, std::move(w));
  parser.set_input(kR, std::move(r));
  parser.note_real_weights();
  while (node.inputs.back() == kNoValue) node.inputs.pop_back();
  parser.become("LSTM");
}

}  // namespace

extern constinit const OpDef kDynamicQuantizeLSTM{.name = "DynamicQuantizeLSTM",
                                                  .domain = "com.microsoft",
                                                  .inputs = {11, 12},
                                                  .outputs = {0, 3},
                                                  .parse = parse};
}  // namespace octet
