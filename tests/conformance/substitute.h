// SPDX-License-Identifier: Apache-2.0
// Models made of a node test: what a run brought is a constant, has no elements, is omitted, or the same value twice, what the file holds
// is brought by a run, and a result goes on into sums and activations, where passes and plans make one step of both.
#pragma once

#include <string>
#include <vector>

#include "octet/tensor.h"
#include "onnx/onnx.pb.h"

namespace octet {

namespace pb = octet_onnx;

struct NodeTest {
  pb::ModelProto model;
  std::vector<pb::TensorProto> inputs;  // of one run, in the order of the model's inputs
  std::vector<Tensor> tensors;          // the same
  std::vector<Tensor> outputs;          // expected
};

// A model, and the tensors that a run of it takes.
struct Substituted {
  std::string name;  // "constant 0, sum": what differs from the node test
  pb::ModelProto model;
  std::vector<Tensor> inputs;
};

std::vector<Substituted> substitutions(const NodeTest& test);

}  // namespace octet
