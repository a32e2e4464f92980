// SPDX-License-Identifier: Apache-2.0
// What the installed header of SourceModel keeps to itself.
#pragma once

#include <string>

#include "octet/source_model.h"
#include "pipeline/float_model.h"

namespace octet {

struct SourceInside {
  // The model that the engines of such a plan are made of, with ranges where there are data.
  static FloatModel calibrated(const SourceModel& source, const PrecisionPlan& plan,
                               CompileReport& report);
  // SourceModel::build() with another method for all ranges; null: as the options say.
  static Engine build(const SourceModel& source, const PrecisionPlan& plan,
                      const RangeMethod* method, CompileReport& report);
  // The model before it has ranges, and what was told with it.
  static const FloatModel& imported(const SourceModel& source);
  static const CompileOptions& options(const SourceModel& source);
  // What the caller calls it, for errors.
  static const std::string& name(const SourceModel& source);
};

}  // namespace octet
