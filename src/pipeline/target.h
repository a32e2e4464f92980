// SPDX-License-Identifier: Apache-2.0
// What a build that wants the fastest types decides by: a chip with a name, so that the same bytes come of it on any machine.
#pragma once

#include "octet/compile.h"

namespace octet {

// The plan with the name of its target in place of an empty one or "cpu" (this machine's processor). One that asks for no fastest types
// stays as it is. Throws Error(invalid_argument) for a target that is not known, and for one that nothing is decided by.
PrecisionPlan with_target(PrecisionPlan plan);

// What becomes of layers that are not INT8: as the plan says, and where it wants the fastest, by its target.
struct FloatTypes {
  bool f16 = false;  // both: bf16 where f16 does not hold the weights
  bool bf16 = false;
  bool products_only = false;  // the others stay in f32
};
FloatTypes float_types(const PrecisionPlan& plan);

}  // namespace octet
