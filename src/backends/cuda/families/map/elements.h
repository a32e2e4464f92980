// SPDX-License-Identifier: Apache-2.0
// Steps that compute each element of their output from one element of each input, with broadcast.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/lower/walk.h"

namespace octet::cuda {

struct Elementwise {
  std::vector<TensorType> types;    // the output, then the inputs: those of the node first
  std::vector<Tensor> constants{};  // of each input; empty where a run brings it
  std::string body;                 // of a, b, c: device/snippets.cuh
  Tensor table{};                   // of codes
  bool table_flipped = false;       // it begins with -128
};

// A picture that enters the graph goes to convolutions, so it changes layout on the way.
bool is_picture(const LowerRequest& request);
// A candidate that keeps `layout`.
Offer elementwise(const LowerRequest& request, const char* kernel, Layout layout, Elementwise step);
// Of all inputs of the node, up to three, any but one of which may be constant.
Offer elementwise_of_inputs(const LowerRequest& request, const char* kernel, std::string body);

}  // namespace octet::cuda
