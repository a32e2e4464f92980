// SPDX-License-Identifier: Apache-2.0
// Checks that most operators need before they touch a shape: axes, element types, and integer lists given as inputs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

// An axis in [-rank, rank) as a non-negative index; throws Error(invalid_model) with the value and the rank.
int normalize_axis(s64 axis, int rank, std::string_view what = "axis");
// The same for each, keeping their order; a repeated axis is an error.
std::vector<int> normalize_axes(std::span<const s64> axes, int rank);

// Product of the dimensions [begin, end) of a concrete shape whose elements() is known to fit.
s64 dims_product(const Shape& shape, int begin, int end);

// Elements between neighbours along each axis of a dense tensor.
std::vector<s64> dense_strides(const Shape& shape);

// Throws Error(invalid_model) when a present input has another dtype than input 0.
void require_same_dtypes(const Inference& inference);
enum class DtypeClass : u8 { number, real, signed_number, boolean, index };  // index: s32 or s64
void require_dtype(const Inference& inference, size_t i, DtypeClass wanted);

// The elements of an s32 or s64 tensor (a shape, axes, pads) during evaluation; empty for an omitted input.
std::vector<s64> read_ints(const Eval& eval, size_t i);
// Fails when evaluation finds another output shape than inference did (a parameter changed between the two).
void require_shape(const Shape& inferred, const Shape& found);

}  // namespace octet
