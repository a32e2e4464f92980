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

bool is_on_host(const TensorView& view) { return view.device == "cpu"; }

bool is_multiple(const std::byte* address, s64 bytes) {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(bytes) == 0;
}
bool is_aligned(const TensorView& view) {
  return is_multiple(view.data, static_cast<s64>(dtype_bytes(view.type.dtype)));
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

void check_memory(const TensorView& view, const Place& place, const Device& device) {
  constexpr auto kCode = Error::Code::invalid_argument;
  if (is_on_host(view) && device.has_host_memory()) return;
  if (!is_on_host(view) && (view.device != device.name() || device.has_host_memory())) {
    fail(kCode, "{} lies in memory of '{}', which this context has not; give it in memory of {}",
         place.name(), view.device,
         device.has_host_memory() ? "the host ('cpu')"
                                  : fmt::format("the host ('cpu') or of '{}'", device.name()));
  }
  if (view.type.bytes() == 0) return;
  if (const std::string owner = device.memory_of(view.data); !owner.empty() && owner != view.device)
    fail(kCode, "{} is given as memory of '{}', but its address is memory of '{}'", place.name(),
         view.device, owner);
  if (!is_on_host(view) && !is_dense(view))
    fail(kCode, "{} lies in memory of '{}' and is not dense there; make it dense", place.name(),
         view.device);
}

void check_view(const TensorView& view, const Place& place, const Device& device) {
  constexpr auto kCode = Error::Code::invalid_argument;
  if (!view.type.shape.is_static()) {
    fail(kCode, "{} is given as {}; a run needs its sizes", place.name(), to_string(view.type));
  }
  if (view.data == nullptr && view.type.bytes() > 0) {
    fail(kCode, "{} is given as {} without data", place.name(), to_string(view.type));
  }
  check_memory(view, place, device);
}

// Each tensor's side of CallerMemory; empty where all is the host's.
template <class View>
std::vector<bool> places_of(std::span<const View> views) {
  if (std::ranges::all_of(views, [](const TensorView& view) { return is_on_host(view); }))
    return {};
  std::vector<bool> places;
  for (const View& view : views) places.push_back(!is_on_host(view));
  return places;
}

}  // namespace

void ViewBinding::Side::resize(size_t count) {
  bound.resize(count);
  copies.resize(std::max(copies.size(), count));
}

void ViewBinding::Side::bind(size_t i, const TensorView& view) {
  if (!is_on_host(view) || (is_dense(view) && is_aligned(view)))
    bound[i] = borrowed(view);
  else
    bind_copy(i, view.type);
}

void ViewBinding::Side::bind_copy(size_t i, const TensorType& type) {
  if (!copies[i] || !(copies[i].type() == type)) copies[i] = Tensor(type.dtype, type.shape);
  bound[i] = copies[i];
}

std::span<const Tensor> ViewBinding::bind_inputs(std::span<const TensorView> views) {
  inputs_.resize(views.size());
  memory_.inputs = places_of(views);
  memory_.aligned.clear();
  for (size_t i = 0; i < views.size(); ++i) {
    check_view(views[i], {graph_, false, i}, device_);
    if (!memory_.inputs.empty())
      memory_.aligned.push_back(memory_.inputs[i] &&
                                is_multiple(views[i].data, CallerMemory::kAlignment));
    inputs_.bind(i, views[i]);
    if (inputs_.is_copied(i)) copy(views[i], view_of(inputs_.copies[i]));
  }
  return inputs_.bound;
}

std::span<Tensor> ViewBinding::bind_outputs(std::span<const MutableTensorView> views) {
  outputs_.resize(views.size());
  memory_.outputs = places_of(views);
  for (size_t i = 0; i < views.size(); ++i) {
    check_view(views[i], {graph_, true, i}, device_);
    check_apart(views[i]);
    outputs_.bind(i, views[i]);
  }
  return outputs_.bound;
}

void ViewBinding::move_to_host(Queue& queue) {
  for (size_t i = 0; i < inputs_.bound.size(); ++i) {
    if (memory_.of_input(i) == kHost) continue;
    const Tensor there = inputs_.bound[i];
    inputs_.bind_copy(i, there.type());
    queue.copy(inputs_.copies[i].mutable_data(), there.data(), there.type().bytes());
  }
  for (size_t i = 0; i < outputs_.bound.size(); ++i) {
    if (memory_.of_output(i) != kHost) outputs_.bind_copy(i, outputs_.bound[i].type());
  }
  memory_ = {};
  queue.synchronize();
}

void ViewBinding::deliver(std::span<const MutableTensorView> views, Queue& queue) {
  for (size_t i = 0; i < views.size(); ++i) {
    if (!outputs_.is_copied(i)) continue;
    const Tensor& here = outputs_.copies[i];
    if (is_on_host(views[i])) {
      copy(view_of(here), views[i]);
    } else {
      queue.copy(views[i].data, here.data(), here.type().bytes());
      queue.synchronize();
    }
  }
}

void ViewBinding::release() {
  inputs_.bound.clear();
  outputs_.bound.clear();
  memory_ = {};
}

}  // namespace octet
