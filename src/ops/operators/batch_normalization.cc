// SPDX-License-Identifier: Apache-2.0
// BatchNormalization with given statistics (inference).
#include <cmath>
#include <string>

#include "core/check.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/normalize.h"

namespace octet {
namespace {

// The statistics of the batch itself are another operator's: passes that fold given statistics never see it.
void become_training(NodeParser& parser) {
  if (parser.opset < 14) {
    fail(Error::Code::unsupported, "attribute 'training_mode' does not exist in opset {}",
         parser.opset);
  }
  parser.node.attrs.erase("training_mode");
  parser.become("BatchStatisticsNormalization");
}

// Before there was an attribute for it, five outputs were what said so, in opset 6 with is_test=0.
bool trains_by_outputs(const NodeParser& parser) {
  return parser.opset < 14 && parser.node.outputs.size() == 5 &&
         parser.node.attrs.i("is_test", 0) == 0;
}

void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  drop_consumed_inputs(parser);
  if (attrs.i("training_mode", 0) != 0) return become_training(parser);
  if (attrs.i("spatial", 1) == 0) {
    fail(Error::Code::unsupported,
         "attribute 'spatial' is 0; only statistics per channel are supported");
  }
  if (trains_by_outputs(parser)) {
    for (const char* name : {"spatial", "is_test"}) attrs.erase(name);
    return parser.become("BatchStatisticsNormalization");
  }
  if (parser.node.outputs.size() > 1) {
    fail(Error::Code::unsupported,
         "it has {} outputs; those beyond the first exist in training only",
         parser.node.outputs.size());
  }
  for (const char* name : {"training_mode", "spatial", "is_test", "momentum"}) attrs.erase(name);
}

void infer(Inference& inference) {
  const Shape& x = inference.inputs[0].shape;
  if (inference.node.outputs.size() > 1) {
    fail(Error::Code::invalid_model, "it has {} outputs, expected 1",
         inference.node.outputs.size());
  }
  require_dtype(inference, 0, DtypeClass::real);
  attribute_of<&NormAttributes::epsilon>(inference.node);
  // A single dimension is a batch of one channel.
  const s64 channels = x.rank() > 1 ? x[1] : 1;
  for (size_t i = 1; i < 5; ++i) {
    require_dtype(inference, i, DtypeClass::real);
    if (inference.inputs[i].shape == Shape{channels}) continue;
    fail(Error::Code::invalid_model, "input {} is {}, expected one value for each of {} channels",
         i, to_string(inference.inputs[i]), channels);
  }
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const f32 epsilon = attribute_of<&NormAttributes::epsilon>(eval.node);
  const FloatInput x(eval, 0), scale(eval, 1), bias(eval, 2), mean(eval, 3), variance(eval, 4);
  const FloatOutput y(eval.outputs[0]);
  const s64 channels = std::ssize(scale.values());
  const s64 pixels = shape.rank() > 2 ? dims_product(shape, 2, shape.rank()) : 1;
  for (s64 i = 0; i < std::ssize(y.values()); ++i) {
    const s64 c = i / pixels % channels;
    const Moments m{mean[c], 1.0f / std::sqrt(variance[c] + epsilon)};
    y[i] = normalize(x[i], m, scale[c], bias[c]);
  }
  y.store();
}

// What no statistics of data can be is found when the model is built; kernels and passes would make NaN of it, and Relu or a
// quantization something that looks healthy.
void verify(const Graph& graph, const Node& node) {
  const Tensor* known = graph.constant_input(node, 4);
  if (known == nullptr || !is_real(known->dtype())) return;
  const f32 epsilon = attribute_of<&NormAttributes::epsilon>(node);
  const FloatInput variance(view(*known));
  for (s64 c = 0; c < std::ssize(variance.values()); ++c) {
    if (variance[c] + epsilon > 0.0f) continue;
    fail(Error::Code::invalid_model,
         "{}: the variance of channel {} is {} and epsilon {}, expected a sum above 0; the "
         "statistics in the model are damaged",
         describe(node), c,
         std::isnan(variance[c]) ? std::string("NaN") : fmt::format("{}", variance[c]), epsilon);
  }
}

constexpr OpTraits kTraits{.verify = verify};

}  // namespace

extern constinit const OpDef kBatchNormalization{.name = "BatchNormalization",
                                                 .inputs = {5, 5},
                                                 .outputs = {1, 5},
                                                 .parse = parse,
                                                 .infer = infer,
                                                 .eval = eval,
                                                 .traits = &kTraits};
}  // namespace octet
