// SPDX-License-Identifier: Apache-2.0
#include "data/sample_axis.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"

namespace octet {
namespace {

constexpr auto kWrong = Error::Code::invalid_argument;

template <class Named>
size_t index_of(std::span<const TensorInfo> infos, const std::string& name, const Named& what) {
  const auto at = std::ranges::find(infos, name, &TensorInfo::name);
  if (at != infos.end()) return static_cast<size_t>(at - infos.begin());
  std::string names;
  for (const TensorInfo& info : infos) names += (names.empty() ? "'" : ", '") + info.name + "'";
  fail(kWrong, "the model has no {} '{}'; it has: {}", what, name, names);
}

bool is_state(const DataOptions& options, const std::string& input) {
  return std::ranges::find(options.states, input, &StateLink::input) != options.states.end();
}

bool could_be(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) return false;
  for (int d = 0; d < a.shape.rank(); ++d) {
    if (a.shape[d] >= 0 && b.shape[d] >= 0 && a.shape[d] != b.shape[d]) return false;
  }
  return true;
}

// One sample of zeros.
Tensor zero_state(const TensorInfo& info, int axis) {
  Shape shape = info.type.shape;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] < 0 && d == axis) shape[d] = 1;
    if (shape[d] < 0) {
      fail(kWrong,
           "the state '{}' is {}: its size is not fixed, so zeros of it cannot begin a sequence",
           info.name, to_string(info.type));
    }
  }
  Tensor zeros(info.type.dtype, shape);
  std::fill_n(zeros.mutable_data(), zeros.bytes(), std::byte{0});
  return zeros;
}

int given_axis(const TensorInfo& input, int axis) {
  if (axis >= 0 && axis < input.type.shape.rank()) return axis;
  fail(kWrong, "the samples of input '{}' {} cannot lie along axis {}", input.name,
       to_string(input.type), axis);
}

// Whether some input has its first dimension open, which then is the batch. Models with more inputs than this are no models with states,
// and each input asks.
bool has_open_batch(std::span<const TensorInfo> inputs) {
  constexpr size_t kMostInputs = 1000;
  return std::ranges::any_of(
      inputs.first(std::min(inputs.size(), kMostInputs)),
      [](const TensorInfo& info) { return info.type.shape.rank() > 0 && info.type.shape[0] < 0; });
}

}  // namespace

Shape axis_to_front(const Shape& shape, int axis) {
  Shape moved{shape[axis]};
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != axis) moved.push_back(shape[d]);
  }
  return moved;
}

Shape front_to_axis(const Shape& shape, int axis) {
  Shape moved;
  for (int d = 1; d <= axis; ++d) moved.push_back(shape[d]);
  moved.push_back(shape[0]);
  for (int d = axis + 1; d < shape.rank(); ++d) moved.push_back(shape[d]);
  return moved;
}

Tensor axis_to_front(const Tensor& tensor, int axis) {
  const Shape& shape = tensor.shape();
  Tensor moved(tensor.dtype(), axis_to_front(shape, axis));
  const auto rows = static_cast<size_t>(shape[axis]);
  size_t outer = 1;
  for (int d = 0; d < axis; ++d) outer *= static_cast<size_t>(shape[d]);
  const size_t bytes = rows * outer == 0 ? 0 : tensor.bytes() / (rows * outer);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t r = 0; r < rows; ++r) {
      std::memcpy(moved.mutable_data() + (r * outer + o) * bytes,
                  tensor.data() + (o * rows + r) * bytes, bytes);
    }
  }
  return moved;
}

int sample_axis(std::span<const TensorInfo> inputs, size_t i,
                const std::map<std::string, int>& given) {
  const TensorInfo& input = inputs[i];
  const auto at = given.find(input.name);
  if (at != given.end()) return given_axis(input, at->second);
  const Shape& shape = input.type.shape;
  if (shape.rank() == 0 || shape[0] < 0) return 0;
  const auto is_open = [](int64_t dim) { return dim < 0; };
  if (std::ranges::count_if(shape, is_open) != 1 || !has_open_batch(inputs)) return 0;
  return static_cast<int>(std::ranges::find_if(shape, is_open) - shape.begin());
}

DataInputs data_inputs(const DataOptions& options, std::span<const TensorInfo> inputs) {
  for (const auto& entry : options.sample_axes) index_of(inputs, entry.first, "input");
  for (const StateLink& link : options.states) index_of(inputs, link.input, "input");
  DataInputs result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int axis = sample_axis(inputs, i, options.sample_axes);
    if (is_state(options, inputs[i].name)) {
      zero_state(inputs[i], axis);
      continue;
    }
    result.infos.push_back(inputs[i]);
    Shape& shape = result.infos.back().type.shape;
    if (axis > 0) shape = axis_to_front(shape, axis);
    result.axes.push_back(axis);
  }
  if (result.infos.empty()) fail(kWrong, "every input of the model is a state; data feed none");
  return result;
}

std::vector<Tensor> with_states(std::vector<Tensor> sample, const DataOptions& options,
                                std::span<const TensorInfo> inputs) {
  std::vector<Tensor> all;
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int axis = sample_axis(inputs, i, options.sample_axes);
    if (is_state(options, inputs[i].name)) {
      all.push_back(zero_state(inputs[i], axis));
      continue;
    }
    Tensor& given = sample[next++];
    // One sample: the axis of length 1 moves, and no element does.
    all.push_back(axis > 0 ? given.reshaped(front_to_axis(given.shape(), axis)) : given);
  }
  return all;
}

StateLoop::StateLoop(std::span<const StateLink> links, std::span<const TensorInfo> inputs,
                     std::span<const TensorInfo> outputs) {
  for (const StateLink& link : links) {
    links_.push_back(
        {index_of(outputs, link.output, "output"), index_of(inputs, link.input, "input")});
    const TensorType& from = outputs[links_.back().output].type;
    const TensorType& to = inputs[links_.back().input].type;
    if (from.shape.is_unknown() || could_be(from, to)) continue;
    fail(kWrong, "output '{}' {} cannot be the next input '{}' {}", link.output, to_string(from),
         link.input, to_string(to));
  }
}

void StateLoop::fill(std::vector<Tensor>& inputs) const {
  for (size_t i = 0; i < kept_.size(); ++i) inputs[links_[i].input] = kept_[i];
}

void StateLoop::keep(std::span<const Tensor> outputs) {
  kept_.clear();
  // A context may write into the outputs that it gave.
  for (const Link& link : links_) kept_.push_back(outputs[link.output].clone());
}

std::vector<size_t> StateLoop::outputs() const {
  std::vector<size_t> indices;
  for (const Link& link : links_) indices.push_back(link.output);
  return indices;
}

}  // namespace octet
