// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/types.h"
#include "inspect/json.h"
#include "octet/json.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

// JSON has neither infinity nor NaN.
Json finite_json(f64 value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json spread_json(const ErrorSpread& spread) {
  return {{"max", finite_json(spread.max)},
          {"mean", finite_json(spread.mean)},
          {"median", finite_json(spread.median)},
          {"quantile", finite_json(spread.quantile)}};
}

Json counts_json(const NotFinite& count) {
  return {{"nan", count.nan}, {"infinite", count.infinite}};
}

}  // namespace

std::string to_json(const OutputComparison& output) {
  const Tolerance& tolerance = output.tolerance;
  Json object = {
      {"name", output.name},
      {"samples", output.samples},
      {"elements", output.elements},
      {"absolute", spread_json(output.absolute)},
      {"relative", spread_json(output.relative)},
      {"zeros", output.zeros},
      {"tolerance",
       {{"absolute", tolerance.absolute},
        {"relative", tolerance.relative},
        {"statistic", to_string(tolerance.statistic)},
        {"quantile", tolerance.quantile}}},
      {"beyond", output.beyond},
      {"failed_samples", output.failed_samples},
      {"passed", output.passed()},
      {"not_finite",
       {{"tested", counts_json(output.tested)}, {"reference", counts_json(output.reference)}}}};
  if (output.top.count > 0) {
    object["top"] = {{"count", output.top.count},
                     {"rows", output.top.rows},
                     {"same", output.top.same},
                     {"share", output.top.share()}};
  }
  return json_text(object);
}

}  // namespace octet
