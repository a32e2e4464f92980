// SPDX-License-Identifier: Apache-2.0
// What INT8 calibration runs on, and how it chooses ranges.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/calibration_cache.h"
#include "octet/data.h"
#include "octet/range.h"

namespace octet {

class Observation;  // octet/observation.h

// In patterns over tensors' names '*' stands for any characters and '?' for one.
struct TensorMethod {
  std::string pattern;
  RangeMethod method;
};

// A range by hand. A name counts before a pattern, a later pattern before an earlier one.
struct GivenRange {
  std::string pattern;
  float min = 0;
  float max = 0;
};

// Lines "tensor: min max" or "tensor: largest-magnitude", '#' before a comment; or one JSON object {"tensor": [min, max], "other": 2.5}.
// Throws one Error(invalid_argument) that lists all that is wrong: numbers that are not finite, empty ranges, a name that stands
// there twice.
std::vector<GivenRange> parse_given_ranges(std::string_view text, const std::string& name);

// The data are files (DataOptions::data), or what `samples` gives, or they were seen before (`observation`), or there are none: then ranges come from the cache, or all of
// them are given.
struct CalibrationOptions : DataOptions {
  // Read once, converted to the inputs' types; several samples at once along the first axis give what each alone gives. Of the other
  // members of DataOptions `preprocess` alone counts: it is remembered by the engine, and not applied.
  SampleSource samples = nullptr;
  // What samples were seen to hold elsewhere (octet/observation.h), in place of data.
  std::shared_ptr<const Observation> observation = nullptr;
  // Absent: entropy, or what the cache says.
  std::optional<RangeMethod> method = std::nullopt;
  // Of some tensors; the last that matches counts. Each must match a tensor.
  std::vector<TensorMethod> methods = {};
  // Ranges of an earlier calibration, in place of data. Refused where it was made for another model.
  std::shared_ptr<const CalibrationCache> cache = nullptr;
  bool cache_of_any_model = false;  // take it nevertheless
  // Take data in which an input for images, every input, or every value that the network computes is one number in all samples.
  bool constant_data = false;
  // Channels that share a scale are brought nearer to each other by powers of two in the weights around them, where the real model stays
  // the same to the bit.
  bool equalize = true;
  // The codes of each convolution alone are tried on up to four samples, for PrecisionPlan::accuracy_time. Takes up to two runs over all samples.
  bool try_layers = false;
  // What runs the model over the samples (octet/machine.h): "cpu", "cuda:0". Another than the CPU sums reals in another order, so that ranges differ in
  // their last bits, as between instruction sets; the engine says which it was. Layers and methods are tried on the CPU.
  std::string device = "cpu";
  bool make_cache = false;  // of what the data gave, into CompileReport::cache
  // Before whatever was calibrated. Each must match a tensor of the model.
  std::vector<GivenRange> ranges = {};
};

}  // namespace octet
