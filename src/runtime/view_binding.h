// SPDX-License-Identifier: Apache-2.0
// The caller's views as the tensors that plans read and write. Dense and aligned host memory is bound where it lies; of any other
// view a tensor is kept here, so that a loop over views of the same types allocates nothing.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "octet/tensor_view.h"

namespace octet {

class ViewBinding {
 public:
  explicit ViewBinding(const Graph& graph) : graph_(graph) {}

  // Throw Error(invalid_argument) naming the input or output whose memory this context cannot reach.
  std::span<const Tensor> bind_inputs(std::span<const TensorView> views);
  std::span<Tensor> bind_outputs(std::span<const MutableTensorView> views);
  // After the run: outputs that were computed elsewhere go to where the caller wants them.
  void deliver(std::span<const MutableTensorView> views);
  // Forgets the caller's memory.
  void release();

 private:
  struct Side {
    std::vector<Tensor> bound, copies;
    void bind(size_t i, const TensorView& view);
    bool is_copied(size_t i) const { return bound[i].data() == copies[i].data(); }
  };

  const Graph& graph_;
  Side inputs_, outputs_;
};

}  // namespace octet
