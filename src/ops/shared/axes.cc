// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/axes.h"

#include <algorithm>

#include "core/check.h"
#include "core/small_types.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

constexpr std::string_view kClassNames[] = {"a number", "a float type", "a signed number", "bool",
                                            "s32 or s64"};

bool is_unsigned(Dtype dtype) {
  return dtype == Dtype::u8 || dtype == Dtype::u16 || dtype == Dtype::u32 || dtype == Dtype::u64;
}

bool belongs(Dtype dtype, DtypeClass wanted) {
  if (is_small_dtype(dtype)) return false;  // nothing is computed in them
  switch (wanted) {
    case DtypeClass::number:
      return dtype != Dtype::boolean;
    case DtypeClass::real:
      return is_real(dtype);
    case DtypeClass::signed_number:
      return dtype != Dtype::boolean && !is_unsigned(dtype);
    case DtypeClass::boolean:
      return dtype == Dtype::boolean;
    case DtypeClass::index:
      return dtype == Dtype::s32 || dtype == Dtype::s64;
  }
  return false;
}

}  // namespace

int normalize_axis(s64 axis, int rank, std::string_view what) {
  if (axis < -rank || axis >= rank) {
    fail(Error::Code::invalid_model, "{} {} is outside [{}, {}) of a tensor of rank {}", what, axis,
         -rank, rank, rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> normalize_axes(std::span<const s64> axes, int rank) {
  std::vector<int> normalized;
  for (s64 axis : axes) {
    const int n = normalize_axis(axis, rank);
    if (std::find(normalized.begin(), normalized.end(), n) != normalized.end()) {
      fail(Error::Code::invalid_model, "axis {} is given twice", axis);
    }
    normalized.push_back(n);
  }
  return normalized;
}

s64 dims_product(const Shape& shape, int begin, int end) {
  s64 product = 1;
  // A zero elsewhere may hide an overflow here; unsigned arithmetic keeps that harmless, since nothing is then read.
  for (int i = begin; i < end; ++i) {
    product = static_cast<s64>(static_cast<u64>(product) * static_cast<u64>(shape[i]));
  }
  return product;
}

std::vector<s64> dense_strides(const Shape& shape) {
  std::vector<s64> strides(static_cast<size_t>(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) {
    strides[static_cast<size_t>(i)] = dims_product(shape, i + 1, shape.rank());
  }
  return strides;
}

void require_same_dtypes(const Inference& inference) {
  for (size_t i = 1; i < inference.inputs.size(); ++i) {
    if (!inference.has_input(i) || inference.inputs[i].dtype == inference.inputs[0].dtype) continue;
    fail(Error::Code::invalid_model, "input {} has type {}, expected {} as input 0", i,
         dtype_name(inference.inputs[i].dtype), dtype_name(inference.inputs[0].dtype));
  }
}

void require_dtype(const Inference& inference, size_t i, DtypeClass wanted) {
  if (belongs(inference.inputs[i].dtype, wanted)) return;
  fail(Error::Code::invalid_model, "input {} has type {}, expected {}", i,
       dtype_name(inference.inputs[i].dtype), kClassNames[static_cast<size_t>(wanted)]);
}

std::vector<s64> read_ints(const Eval& eval, size_t i) {
  if (!eval.has_input(i)) return {};
  const ConstView& input = eval.inputs[i];
  if (input.dtype == Dtype::s32) {
    const auto ints = input.as<s32>();
    return {ints.begin(), ints.end()};
  }
  const auto ints = input.as<s64>();
  return {ints.begin(), ints.end()};
}

void require_shape(const Shape& inferred, const Shape& found) {
  if (inferred == found) return;
  fail(Error::Code::invalid_argument,
       "the result would be {}, but was planned as {}: a shape parameter changed at run time",
       to_string(found), to_string(inferred));
}

}  // namespace octet
