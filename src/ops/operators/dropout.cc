// SPDX-License-Identifier: Apache-2.0
// Dropout(x, ratio=0.5, training_mode=false) {seed} -> y, mask. At inference nothing is dropped: the node becomes Identity,
// or stays for its mask, which is all true. A model exported in training mode drops by a fixed sequence of the seed.
#include <algorithm>
#include <random>

#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

struct DropoutAttributes {
  s64 seed = 0;

  OCTET_ATTRIBUTES(seed)
};

bool may_drop(const NodeParser& parser) {
  if (!parser.has_input(2)) return false;
  const Tensor* training = parser.constant(2);
  const bool known = training != nullptr && training->dtype() == Dtype::boolean;
  return !known || training->elements() != 1 || training->as<bool>()[0];
}

void parse(NodeParser& parser) {
  Node& node = parser.node;
  for (const char* old : {"consumed_inputs", "is_test", "ratio"}) node.attrs.erase(old);
  if (may_drop(parser)) return;
  node.attrs.erase("seed");
  node.inputs.resize(1);
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return;
  node.outputs.resize(1);
  parser.become("Identity");
}

void infer(Inference& inference) {
  const auto require_scalar = [&](size_t i) {
    if (!inference.has_input(i) || inference.inputs[i].shape.elements() == 1) return;
    fail(Error::Code::invalid_model, "input {} is {}, expected a scalar", i,
         to_string(inference.inputs[i]));
  };
  require_dtype(inference, 0, DtypeClass::real);
  require_scalar(1);
  require_scalar(2);
  if (inference.has_input(1)) require_dtype(inference, 1, DtypeClass::real);
  if (inference.has_input(2)) require_dtype(inference, 2, DtypeClass::boolean);
  inference.same_as_input(0);
  inference.output(Dtype::boolean, inference.inputs[0].shape);
}

f64 ratio_of(const Eval& eval) {
  if (!eval.has_input(2) || !eval.inputs[2].as<bool>()[0]) return 0.0;
  f64 ratio = 0.5;
  if (eval.has_input(1)) {
    visit_real(eval.inputs[1].dtype, [&]<class T>() {
      ratio = static_cast<f64>(static_cast<Wide<T>>(eval.inputs[1].as<T>()[0]));
    });
  }
  if (ratio >= 0.0 && ratio < 1.0) return ratio;
  fail(Error::Code::invalid_argument, "the ratio is {}, expected a number in [0, 1)", ratio);
}

// Uniform in [0, 1) with 53 bits of a Mersenne twister, the sequence that ONNX's own tests expect.
class Uniform {
 public:
  explicit Uniform(s64 seed) : twister_(static_cast<u32>(seed)) {}
  f64 next() {
    const f64 high = static_cast<f64>(twister_() >> 5);
    const f64 low = static_cast<f64>(twister_() >> 6);
    return (high * 0x1p26 + low) / 0x1p53;
  }

 private:
  std::mt19937 twister_;
};

void eval(const Eval& eval) {
  const f64 ratio = ratio_of(eval);
  std::vector<u8> keep(static_cast<size_t>(eval.outputs[0].shape.elements()), 1);
  eval_copy(eval);
  if (ratio > 0.0) {
    Uniform uniform(attribute_of<&DropoutAttributes::seed>(eval.node));
    for (u8& kept : keep) kept = uniform.next() >= ratio;
    visit_real(eval.outputs[0].dtype, [&]<class T>() {
      const auto scale = static_cast<Wide<T>>(1.0 / (1.0 - ratio));
      const auto dst = eval.outputs[0].as<T>();
      for (size_t i = 0; i < dst.size(); ++i) {
        const auto x = static_cast<Wide<T>>(dst[i]);
        dst[i] = narrow<T>(keep[i] != 0 ? x * scale : Wide<T>{0});
      }
    });
  }
  if (eval.outputs.size() < 2 || eval.outputs[1].data == nullptr) return;
  std::transform(keep.begin(), keep.end(), eval.outputs[1].as<bool>().begin(),
                 [](u8 kept) { return kept != 0; });
}

}  // namespace

extern constinit const OpDef kDropout{.name = "Dropout",
                                      .inputs = {1, 3},
                                      .outputs = {1, 2},
                                      .parse = parse,
                                      .infer = infer,
                                      .eval = eval};
}  // namespace octet
