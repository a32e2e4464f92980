// SPDX-License-Identifier: Apache-2.0
// An input of QuantizeLinear or DequantizeLinear in a small element type, read as f32, which holds every one of its values.
#pragma once

#include "core/small_types.h"
#include "graph/op_def.h"

namespace octet {

class SmallInput {
 public:
  SmallInput(const Eval& eval, size_t i) {
    if (!eval.has_input(i)) return;
    dtype_ = eval.inputs[i].dtype;
    bytes_ = {static_cast<const u8*>(eval.inputs[i].data),
              static_cast<size_t>(eval.inputs[i].shape.elements())};
  }

  f32 operator[](s64 i) const { return small_to_f32(dtype_, bytes_[static_cast<size_t>(i)]); }
  // One element is for every index; without any it is 0.
  f32 at_or_zero(s64 i) const {
    if (bytes_.empty()) return 0;
    return (*this)[bytes_.size() == 1 ? 0 : i];
  }

 private:
  Dtype dtype_ = Dtype::u4;
  std::span<const u8> bytes_;
};

}  // namespace octet
