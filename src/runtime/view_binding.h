// SPDX-License-Identifier: Apache-2.0
// The caller's views as the tensors that plans read and write. Dense memory of the context's device, and dense and aligned memory of
// the host, is bound where it lies; of any other view of the host's memory a tensor is kept here, so that a loop over views of the
// same types allocates nothing.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "octet/tensor_view.h"
#include "plan/plan.h"

namespace octet {

class ViewBinding {
 public:
  // `device`: the context's.
  ViewBinding(const Graph& graph, const Device& device) : graph_(graph), device_(device) {}

  // Throw Error(invalid_argument) naming the input or output whose memory this context cannot reach.
  std::span<const Tensor> bind_inputs(std::span<const TensorView> views);
  std::span<Tensor> bind_outputs(std::span<const MutableTensorView> views);
  // Where what is bound lies; where nothing is, all of it is the host's.
  const CallerMemory& memory() const { return memory_; }
  // For a run that has no use for the device's memory: inputs there are copied to the host, and outputs there bound to memory of the
  // host, from which deliver() copies.
  void move_to_host(Queue& queue);
  // After the run: outputs that were computed elsewhere go to where the caller wants them.
  void deliver(std::span<const MutableTensorView> views, Queue& queue);
  // Forgets the caller's memory.
  void release();

 private:
  struct Side {
    std::vector<Tensor> bound, copies;
    void resize(size_t count);
    void bind(size_t i, const TensorView& view);
    void bind_copy(size_t i, const TensorType& type);
    bool is_copied(size_t i) const { return bound[i].data() == copies[i].data(); }
  };

  const Graph& graph_;
  const Device& device_;
  Side inputs_, outputs_;
  CallerMemory memory_;
};

}  // namespace octet
