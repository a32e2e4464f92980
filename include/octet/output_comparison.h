// SPDX-License-Identifier: Apache-2.0
// Outputs of an engine beside those of a reference, sample by sample: errors absolute and relative, tolerances, top indices, values that are
// not finite, and where in an output the errors lie. The errors are those of Polygraphy's comparator.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "octet/tensor.h"
#include "octet/tolerances.h"

namespace octet {

// Of the errors of one sample's output; NaN where one of them is. A quantile lies between the two nearest errors, linearly.
struct ErrorSpread {
  double max = 0;
  double mean = 0;
  double median = 0;
  double quantile = 0;  // Tolerance::quantile
};

struct NotFinite {
  int64_t nan = 0;
  int64_t infinite = 0;
  int64_t count() const { return nan + infinite; }
};

// The errors of an output by place: a grid of cells over its last two dimensions of more than one element (outputs with more
// have all of theirs in it, those with fewer one row), whose cells cover equal parts. Row by row.
struct ErrorMap {
  struct Cell {
    int64_t elements = 0;
    double absolute = 0;   // sum of the finite errors
    double reference = 0;  // sum of the reference's finite magnitudes
    double largest = 0;    // infinite where an error is not finite
    double mean() const { return elements == 0 ? 0 : absolute / static_cast<double>(elements); }
    // Of the magnitude; 0 where both are 0.
    double relative() const;
  };
  static constexpr int64_t kMostRows = 24;
  static constexpr int64_t kMostColumns = 48;
  int64_t height = 0, width = 0;  // elements of the first sample that it covers
  int64_t rows = 0, columns = 0;
  std::vector<Cell> cells;
};

// The places of the largest values along the last dimension of more than one element.
struct TopIndices {
  int64_t count = 0;  // that are compared, at most the dimension
  int64_t rows = 0;   // along that dimension, over all samples
  int64_t same = 0;   // rows with the same indices in the same places, or within the tolerance
  double share() const;
};

// One output over all samples.
struct OutputComparison {
  std::string name;
  Tolerance tolerance;
  int64_t samples = 0;
  int64_t elements = 0;
  // |tested - reference|, and that divided by |reference| (by 2.2e-16 where it is 0): of each number the largest over the samples.
  ErrorSpread absolute, relative;
  int64_t zeros = 0;           // elements whose reference is 0
  int64_t beyond = 0;          // elements beyond both tolerances
  int64_t failed_samples = 0;  // whose statistic is
  NotFinite tested, reference;
  TopIndices top;
  ErrorMap map;

  bool passed() const { return failed_samples == 0; }
  bool finite() const { return tested.count() + reference.count() == 0; }
};

struct ComparisonOptions {
  std::vector<Tolerance> tolerances = {};  // one for each output; empty: the usual ones
  bool equal_infinities = false;           // equal infinite values have no error, else one of NaN
  int64_t top = 0;                         // indices to compare; 0: none
  int64_t index_tolerance = 0;             // places that an index may be away
};

class OutputComparer {
 public:
  explicit OutputComparer(std::span<const std::string> names, ComparisonOptions options = {});

  // The outputs of one sample, in the order of the names. Throws one Error(invalid_argument) that names the sample and every output whose
  // shape or type differs (real numbers of any width may be held against each other).
  void add(const std::string& sample, std::span<const Tensor> reference,
           std::span<const Tensor> tested);

  const std::vector<OutputComparison>& outputs() const { return outputs_; }

 private:
  ComparisonOptions options_;
  std::vector<OutputComparison> outputs_;
};

// Whether values of the one type can be held against values of the other: both real, or one type.
bool comparable(Dtype a, Dtype b);

}  // namespace octet
