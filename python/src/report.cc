// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <nanobind/stl/vector.h>

#include "arrays.h"

namespace octet::python {
namespace {

nb::list strings(const std::vector<std::string>& lines) {
  nb::list list;
  for (const std::string& line : lines) list.append(to_str(line));
  return list;
}

nb::dict range_dict(const Range& range) {
  nb::dict dict;
  dict["tensor"] = to_str(range.tensor);
  dict["min"] = range.min;
  dict["max"] = range.max;
  dict["threshold"] = range.threshold;
  dict["method"] = range.method ? nb::object(to_str(to_string(*range.method))) : nb::none();
  return dict;
}

nb::dict input_dict(const InputSummary& input) {
  nb::dict dict;
  dict["input"] = to_str(input.input);
  dict["samples"] = input.samples;
  dict["smallest"] = sizes_of(input.smallest);
  dict["largest"] = sizes_of(input.largest);
  dict["min"] = input.min;
  dict["max"] = input.max;
  dict["mean"] = nb::cast(input.mean);
  dict["deviation"] = nb::cast(input.deviation);
  return dict;
}

nb::dict missing_dict(const MissingRange& missing) {
  nb::dict dict;
  dict["tensor"] = to_str(missing.tensor);
  dict["layers"] = strings(missing.layers);
  return dict;
}

template <class Item>
nb::list dicts(const std::vector<Item>& items, nb::dict (*dict_of)(const Item&)) {
  nb::list list;
  for (const Item& item : items) list.append(dict_of(item));
  return list;
}

}  // namespace

nb::dict report_dict(const CompileReport& report) {
  nb::dict dict;
  dict["samples"] = report.calibration_samples;
  dict["skipped"] = strings(report.skipped_files);
  dict["inputs"] = dicts(report.inputs, input_dict);
  dict["prepared"] = report.handling ? nb::object(to_str(report.handling->line())) : nb::none();
  dict["ranges"] = dicts(report.ranges, range_dict);
  dict["missing_ranges"] = dicts(report.missing_ranges, missing_dict);
  dict["warnings"] = strings(report.warnings);
  return dict;
}

}  // namespace octet::python
