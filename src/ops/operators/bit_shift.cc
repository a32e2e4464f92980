// SPDX-License-Identifier: Apache-2.0
// a << b or a >> b of unsigned integers, attribute direction; nothing is left when b is not less than the width.
#include <array>

#include "graph/attributes.h"
#include "ops/shared/bitwise.h"

namespace octet {
namespace {

enum class ShiftDirection : u8 { left, right };

constexpr auto attribute_words(ShiftDirection) {
  return std::to_array<AttributeWord<ShiftDirection>>(
      {{"LEFT", ShiftDirection::left}, {"RIGHT", ShiftDirection::right}});
}

struct BitShiftAttributes {
  ShiftDirection direction = ShiftDirection::left;

  OCTET_REQUIRED_ATTRIBUTES(direction)
};

bool shifts_left(const Node& node) {
  return attribute_of<&BitShiftAttributes::direction>(node) == ShiftDirection::left;
}

void infer(Inference& inference) {
  shifts_left(inference.node);
  const Dtype dtype = inference.inputs[0].dtype;
  if (!visit_dtype(dtype, []<class T>() { return std::is_unsigned_v<T>; })) {
    fail(Error::Code::invalid_model, "input 0 is {}, expected unsigned integers",
         dtype_name(dtype));
  }
  infer_bitwise(inference);
}

void eval(const Eval& eval) {
  const bool left = shifts_left(eval.node);
  eval_bitwise(eval, [left]<class U>(U a, U b) {
    if (b >= 8 * sizeof(U)) return U{0};
    return static_cast<U>(left ? u64{a} << b : u64{a} >> b);
  });
}

}  // namespace

extern constinit const OpDef kBitShift{
    .name = "BitShift", .inputs = {2, 2}, .infer = infer, .eval = eval};
}  // namespace octet
