// SPDX-License-Identifier: Apache-2.0
// Sums, products and extremes over some axes: what their host half and their kernel agree on.
#pragma once

#include "backends/cuda/device/element_type.h"

namespace octet::cuda::reduce {

// Of a row, the elements that make one output. mean_codes: of codes, to a code.
enum class Operation : s32 {
  sum,
  mean,
  sum_of_magnitudes,
  sum_of_squares,
  norm,
  product,
  largest,
  smallest,
  place_of_largest,
  place_of_smallest,
  mean_codes
};

#define KEPT_AXIS_FIELDS(FIELD)                                   \
  FIELD(s32, size)                                                \
  FIELD(s64, x) /* from one element to the next, of x and of y */ \
  FIELD(s64, y)
OCTET_SPEC(KeptAxis, KEPT_AXIS_FIELDS)
#define REDUCED_AXIS_FIELDS(FIELD) \
  FIELD(s32, size)                 \
  FIELD(s64, x)
OCTET_SPEC(ReducedAxis, REDUCED_AXIS_FIELDS)
using KeptAxes = List<KeptAxis, 8>;  // the fastest first
using ReducedAxes = List<ReducedAxis, 8>;

// mean_codes: from the sum of the codes to a code.
#define MEAN_FIELDS(FIELD)                                             \
  FIELD(s32, zero) /* the sum where all codes are the zero point */    \
  FIELD(F32Bits, multiplier)                                           \
  FIELD(bool, leaky) /* negative reals times alpha */                  \
  FIELD(F32Bits, alpha)                                                \
  FIELD(s32, zero_point) /* of y, whose codes lie between lo and hi */ \
  FIELD(s32, lo)                                                       \
  FIELD(s32, hi)
OCTET_SPEC(Mean, MEAN_FIELDS)

#define REDUCE_FIELDS(FIELD)                                                                                        \
  FIELD(Operation, operation)                                                                                       \
  FIELD(ElementType, element)                                                                                       \
  FIELD(ElementType, out)                                                                                           \
  FIELD(ElementType, rounded) /* reals are rounded to it; f32: they are not */                                      \
  FIELD(bool, last)           /* of equal extremes the last one's place; else the first one's */                    \
  FIELD(Mean, mean)                                                                                                 \
  FIELD(KeptAxes, kept) /* but the inner one */                                                                     \
  FIELD(ReducedAxes, reduced)                                                                                       \
  FIELD(s32, count) /* of a row */                                                                                  \
  FIELD(                                                                                                            \
      bool,                                                                                                         \
      has_inner) /* a kept axis lies together in x: a block takes a piece of it; else lanes of a warp take a row */ \
  FIELD(s32, inner)   /* its elements */                                                                            \
  FIELD(s64, y_inner) /* how far apart they lie in y */                                                             \
  FIELD(s32, vec)     /* of them for each thread */                                                                 \
  FIELD(s32, columns) /* threads of a block along it */                                                             \
  FIELD(s32, lanes)   /* threads that share a row */                                                                \
  FIELD(s32, loads)   /* of a thread, that come together; 0: it waits for each few of them */
OCTET_SPEC(Spec, REDUCE_FIELDS)

constexpr bool is_place(Operation operation) {
  return operation == Operation::place_of_largest || operation == Operation::place_of_smallest;
}
constexpr bool is_extreme(Operation operation) {
  return is_place(operation) || operation == Operation::largest || operation == Operation::smallest;
}
// One after the other, in the order of the row.
constexpr bool is_one_by_one(ElementType element, Operation operation) {
  return is_real(element) && operation == Operation::product;
}
// In any order the result has the same bits.
constexpr bool has_any_order(ElementType element) { return !is_real(element); }
// Of what is combined, at most.
constexpr s32 sum_bytes(ElementType element, Operation operation) {
  if (is_place(operation) && element_bytes(element) == 8 && !is_real(element)) return 16;
  if (is_place(operation) || (is_extreme(operation) && is_real(element))) return 8;
  return element_bytes(element) == 8 ? 8 : 4;
}

constexpr s32 kLanesOfReals = 16;  // docs/numerics.md, section 7
constexpr s32 vectors(const Spec& s) { return s.inner / s.vec; }
// Blocks along the inner axis.
constexpr s32 inner_blocks(const Spec& s) { return ceil_div_s32(vectors(s), s.columns); }
// Where reals are added and vectors are words at least, they come through shared memory, so many turns of `loads` at once: no registers wait for them.
constexpr s32 kStages = 4;
constexpr s32 turns(const Spec& s) {
  return s.loads == 0 ? 0 : ceil_div_s32(ceil_div_s32(s.count, s.lanes), s.loads);
}
constexpr s64 rows(const Spec& s) {
  s64 product = 1;
  for (s32 d = 0; d < s.kept.count; ++d) product *= s.kept.at[d].size;
  return product;
}
constexpr s32 threads(const Spec& s) { return s.has_inner ? s.lanes * s.columns : 256; }
constexpr s64 blocks(const Spec& s) {
  if (s.has_inner) return rows(s) * inner_blocks(s);
  return (rows(s) * s.lanes + threads(s) - 1) / threads(s);
}

#define REDUCE_RULES(RULE)                                                                 \
  RULE(s.element != ElementType::f64, "reals are combined as f32")                         \
  RULE(s.inner % s.vec == 0, "a vector would reach beyond the inner axis")                 \
  RULE((s.lanes & (s.lanes - 1)) == 0, "lanes are combined pairwise")                      \
  RULE(s.loads == 0 || (s.has_inner && s.vec * element_bytes(s.element) >= 4),             \
       "copies behind the program's back are of words")                                    \
  RULE(s.has_inner || (s.lanes <= 32 && s.vec == 1), "lanes of a row are those of a warp") \
  RULE(has_any_order(s.element) || s.lanes == kLanesOfReals ||                             \
           (s.lanes == 1 && is_one_by_one(s.element, s.operation)),                        \
       "the order of additions would be another one")                                      \
  RULE(!s.has_inner || !is_one_by_one(s.element, s.operation),                             \
       "a row's order would be another one")                                               \
  RULE(s.operation != Operation::mean_codes || element_bytes(s.element) == 1, "codes are bytes")
OCTET_RULES(Spec, REDUCE_RULES)

struct Params {
  const void* x;
  void* y;
};

}  // namespace octet::cuda::reduce
