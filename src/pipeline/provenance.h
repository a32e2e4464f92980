// SPDX-License-Identifier: Apache-2.0
// What a Model keeps of its making (octet/provenance.h).
#pragma once

#include <string>

#include "pipeline/float_model.h"

namespace octet {

// As JSON, without what other members of a Model say. `calibrated`: the ranges of `model` went into it.
std::string provenance_of(const FloatModel& model, const PrecisionPlan& plan, bool calibrated);

}  // namespace octet
