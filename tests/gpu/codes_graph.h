// SPDX-License-Identifier: Apache-2.0
// What graphs of the GPU's tests are made with: a graph and the random codes that are its inputs.
#pragma once

#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace octet::test {

class CodesGraph {
 public:
  const Graph& graph() const { return graph_; }
  std::span<const Tensor> inputs() const { return inputs_; }
  std::vector<Shape> shapes() const {
    std::vector<Shape> shapes;
    for (const Tensor& input : inputs_) shapes.push_back(input.shape());
    return shapes;
  }

 protected:
  explicit CodesGraph(u32 seed) : random_(seed) {}

  static Dtype codes_of(bool is_signed) { return is_signed ? Dtype::s8 : Dtype::u8; }

  // Of any codes.
  ValueId input(const std::string& name, const Shape& shape, bool is_signed) {
    Tensor tensor(codes_of(is_signed), shape);
    for (std::byte* at = tensor.mutable_data(); at < tensor.mutable_data() + tensor.bytes(); ++at)
      *at = static_cast<std::byte>(random_() >> 8);
    return input(name, std::move(tensor));
  }

  ValueId input(const std::string& name, Tensor tensor) {
    const ValueId id = graph_.add_value(name, tensor.type());
    graph_.inputs.push_back(id);
    inputs_.push_back(std::move(tensor));
    return id;
  }

  // Each element as `make` gives it.
  template <class T, class Make>
  ValueId constant(const std::string& name, const Shape& shape, Make make) {
    Tensor tensor(DtypeOf<T>::value, shape);
    for (T& value : tensor.mutable_as<T>()) value = make();
    return graph_.add_constant(name, std::move(tensor));
  }

  std::mt19937 random_;
  Graph graph_;

 private:
  std::vector<Tensor> inputs_;
};

}  // namespace octet::test
