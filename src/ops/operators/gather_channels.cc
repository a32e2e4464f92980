// SPDX-License-Identifier: Apache-2.0
// GatherChannels(x...) {channels}: the inputs laid one after another along axis 1, of which output channel i is channel
// channels[i]. What a channel shuffle between a Concat and a Split becomes; no ONNX file contains it.
#include <cstring>

#include "core/checked.h"
#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

void infer(Inference& inference) {
  require_same_dtypes(inference);
  Shape output = inference.inputs[0].shape;
  if (output.rank() < 2) fail(kInvalid, "the input is {}, expected N, C, ...", to_string(output));
  s64 joined = 0;
  for (size_t i = 0; i < inference.inputs.size(); ++i) {
    const Shape& shape = inference.inputs[i].shape;
    bool fits = shape.rank() == output.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) fits = d == 1 || shape[d] == output[d];
    const auto sum = fits ? checked_add(joined, shape[1]) : std::nullopt;
    if (!sum) {
      fail(kInvalid, "input {} is {}, which does not join {} along axis 1", i, to_string(shape),
           to_string(output));
    }
    joined = *sum;
  }
  const std::vector<s64> channels =
      attribute_of<&GatherChannelsAttributes::channels>(inference.node);
  for (s64 channel : channels) {
    if (channel >= 0 && channel < joined) continue;
    fail(kInvalid, "channel {} is picked from {} channels", channel, joined);
  }
  output[1] = static_cast<s64>(channels.size());
  inference.output(inference.inputs[0].dtype, output);
}

void eval(const Eval& eval) {
  const MutableView& output = eval.outputs[0];
  const s64 bytes = dims_product(output.shape, 2, output.shape.rank()) *
                    static_cast<s64>(dtype_bytes(output.dtype));
  const std::vector<s64> channels = attribute_of<&GatherChannelsAttributes::channels>(eval.node);
  auto* dst = static_cast<std::byte*>(output.data);
  if (bytes == 0) return;
  for (s64 n = 0; n < output.shape[0]; ++n) {
    for (s64 channel : channels) {
      size_t i = 0;
      for (; channel >= eval.inputs[i].shape[1]; ++i) channel -= eval.inputs[i].shape[1];
      const s64 plane = n * eval.inputs[i].shape[1] + channel;
      std::memcpy(dst, static_cast<const std::byte*>(eval.inputs[i].data) + plane * bytes,
                  static_cast<size_t>(bytes));
      dst += bytes;
    }
  }
}

}  // namespace

extern constinit const OpDef kGatherChannels{
    .name = "GatherChannels",
    .domain = "octet",
    .inputs = {1, -1},
    .infer = infer,
    .eval = eval,
    .quant = {.kind = QuantKind::move_codes, .moved_input = -1}};
}  // namespace octet
