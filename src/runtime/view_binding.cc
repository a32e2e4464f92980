// SPDX-License-Identifier: Apache-2.0
#include "runtime/view_binding.h"

#include <algorithm>

#include "core/check.h"
#include "core/tensor_view.h"

namespace octet {
namespace {

// What an empty tensor points to.
constexpr std::byte kNothing{};

// A tensor over memory that the caller keeps alive.
Tensor borrowed(const TensorView& view) {
  const std::byte* data = view.data == nullptr ? &kNothing : view.data;
  return {view.type, std::shared_ptr<const std::byte>(std::shared_ptr<void>(), data)};
}

bool is_aligned(const TensorView& view) {
  return reinterpret_cast<uintptr_t>(view.data) % dtype_bytes(view.type.dtype) == 0;
}

// Which of the model's tensors a view is for.
struct Place {
  const Graph& graph;
  bool is_output;
  size_t index;

  // A number of tensors that the model has not is for the run to say.
  std::string name() const {
    const std::vector<ValueId>& ids = is_output ? graph.outputs : graph.inputs;
    const char* kind = is_output ? "output" : "input";
    return index < ids.size() ? fmt::format("{} '{}'", kind, graph.value(ids[index]).name)
                              : fmt::format("{} {}", kind, index);
  }
};

void check_view(const TensorView& view, const Place& place) {
  constexpr auto kCode = Error::Code::invalid_argument;
  if (view.device != "cpu") {
    fail(kCode,
         "{} lies in memory of '{}', which this context has not; give it in memory of the host "
         "('cpu')",
         place.name(), view.device);
  }
  if (!view.type.shape.is_static()) {
    fail(kCode, "{} is given as {}; a run needs its sizes", place.name(), to_string(view.type));
  }
  if (view.data == nullptr && view.type.bytes() > 0) {
    fail(kCode, "{} is given as {} without data", place.name(), to_string(view.type));
  }
}

}  // namespace

void ViewBinding::Side::bind(size_t i, const TensorView& view) {
  if (is_dense(view) && is_aligned(view)) {
    bound[i] = borrowed(view);
    return;
  }
  if (!copies[i] || !(copies[i].type() == view.type))
    copies[i] = Tensor(view.type.dtype, view.type.shape);
  bound[i] = copies[i];
}

std::span<const Tensor> ViewBinding::bind_inputs(std::span<const TensorView> views) {
  inputs_.bound.resize(views.size());
  inputs_.copies.resize(std::max(inputs_.copies.size(), views.size()));
  for (size_t i = 0; i < views.size(); ++i) {
    check_view(views[i], {graph_, false, i});
    inputs_.bind(i, views[i]);
    if (inputs_.is_copied(i)) copy(views[i], view_of(inputs_.copies[i]));
  }
  return inputs_.bound;
}

std::span<Tensor> ViewBinding::bind_outputs(std::span<const MutableTensorView> views) {
  outputs_.bound.resize(views.size());
  outputs_.copies.resize(std::max(outputs_.copies.size(), views.size()));
  for (size_t i = 0; i < views.size(); ++i) {
    check_view(views[i], {graph_, true, i});
    check_apart(views[i]);
    outputs_.bind(i, views[i]);
  }
  return outputs_.bound;
}

void ViewBinding::deliver(std::span<const MutableTensorView> views) {
  for (size_t i = 0; i < views.size(); ++i) {
    if (outputs_.is_copied(i)) copy(view_of(std::as_const(outputs_.copies[i])), views[i]);
  }
}

void ViewBinding::release() {
  inputs_.bound.clear();
  outputs_.bound.clear();
}

}  // namespace octet
