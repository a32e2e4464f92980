// SPDX-License-Identifier: Apache-2.0
#include "octet/image_sizes.h"

#include <fmt/format.h>

#include <vector>

namespace octet {
namespace {

constexpr int64_t kLargestSide = 128;

bool plans(const Engine& engine, std::span<const Shape> shapes) {
  try {
    engine.make_context().prepare(shapes);
    return true;
  } catch (const Error& error) {
    if (error.code() == Error::Code::internal) throw;
    return false;
  }
}

Shape rounded_up(const Shape& shape, const Shape& declared, int64_t side) {
  Shape rounded = shape;
  for (int i = 1; i < shape.rank() && i < declared.rank(); ++i) {
    if (declared[i] < 0) rounded[i] = (shape[i] + side - 1) / side * side;
  }
  return rounded;
}

}  // namespace

std::optional<int64_t> side_that_fits(const Engine& engine, std::span<const Shape> shapes) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  if (inputs.size() != shapes.size()) return std::nullopt;
  std::vector<Shape> tried(shapes.begin(), shapes.end());
  for (int64_t side = 2; side <= kLargestSide; side *= 2) {
    std::vector<Shape> next;
    for (size_t i = 0; i < inputs.size(); ++i)
      next.push_back(rounded_up(shapes[i], inputs[i].type.shape, side));
    if (next == tried) continue;  // these are known to fail
    if (plans(engine, next)) return side;
    tried = std::move(next);
  }
  return std::nullopt;
}

std::string size_advice(const Engine& engine, std::span<const Tensor> inputs, const Error& error) {
  if (error.code() != Error::Code::invalid_argument && error.code() != Error::Code::invalid_model)
    return {};
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const std::optional<int64_t> side = side_that_fits(engine, shapes);
  if (!side) return {};
  const TensorInfo first = engine.inputs().at(0);
  return fmt::format(
      "input '{}' takes any size, but the network does not take {} ({}); sides that are multiples "
      "of {} do (found by trying): give all images one such size",
      first.name, to_string(shapes[0]), error.message(), *side);
}

}  // namespace octet
