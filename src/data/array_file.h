// SPDX-License-Identifier: Apache-2.0
// One .npy or .npz file whose arrays have been matched with a model's inputs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/array_selector.h"
#include "octet/engine.h"
#include "octet/tensor.h"

namespace octet {

struct ArrayFile {
  std::filesystem::path path;
  std::vector<std::string> arrays;  // one for each input; empty for .npy
  std::vector<Shape> samples;  // one for each input: the shape of one sample, leading 1 included
  std::vector<s64> labels;     // one for each row; empty without labels
  RowRange rows;               // those in use
  std::vector<int> axes;       // one for each input: along which its array has the samples
  bool single = false;         // the whole file is one sample without a sample axis
};

// Reads headers (and labels) only. An array fits an input when it is one sample of it, or has a leading sample axis; axes of
// length 1 may be missing ([N,8,8] for [N,1,8,8]).
// `axes` are the inputs' own sample axes, which the shapes of `inputs` have in front; an array of an input's rank has it there, too.
// A number that is an input of its own serves all samples.
ArrayFile open_array_file(const ArraySelector& selector, std::span<const TensorInfo> inputs,
                          std::span<const int> axes = {});

// The arrays, in the order of the inputs, samples in front.
std::vector<Tensor> load_arrays(const ArrayFile& file);

// The arrays as stored, where each has its input's own shape, first dimension included, and the selector takes no part of them;
// headers alone are read to find that out.
std::optional<std::vector<Tensor>> load_whole_arrays(const ArraySelector& selector,
                                                     std::span<const TensorInfo> inputs);

// How an array of this shape serves an input: rows and the shape of one. Rows 0 with `fits` false: it does not.
struct RowFit {
  bool fits = false;
  bool single = false;
  s64 rows = 0;
  Shape sample;
};
RowFit fit_rows(const Shape& array, const Shape& input);

}  // namespace octet
