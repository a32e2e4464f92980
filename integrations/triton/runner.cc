// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <algorithm>
#include <charconv>

#include "octet/machine.h"
#include "octet/plans.h"
#include "pieces.h"

namespace octet::triton {

bool Runner::Prepared::sized_by_data() const {
  return std::ranges::any_of(outputs, [](const TensorType& type) {
    return type.shape.is_unknown() || !type.shape.is_static();
  });
}

Runner::Runner(const Engine& engine, const std::string& device, int threads)
    : engine_(engine),
      options_{.threads = threads, .device = device, .pool = make_thread_pool(threads)},
      device_(device_info(device).name),
      others_(engine.make_context(options_)) {}

int Runner::owner() const {
  const size_t colon = device_.find(':');
  if (!device_.starts_with("cuda:")) return kHostMemory;
  int number = 0;
  std::from_chars(device_.data() + colon + 1, device_.data() + device_.size(), number);
  return number;
}

Tensor Runner::host_memory(int64_t bytes) const {
  return others_.make_tensor({Dtype::u8, Shape{bytes}});
}

Context& Runner::roomy_context() {
  const size_t room = contexts_.size() * static_cast<size_t>(kPlansOfContext);
  if (prepared_.size() == room) contexts_.push_back(engine_.make_context(options_));
  return contexts_.back();
}

const Runner::Prepared& Runner::prepare(const std::vector<Shape>& shapes, bool on_device) {
  for (const Prepared& known : prepared_) {
    if (known.on_device == on_device && known.shapes == shapes) return known;
  }
  Context& context = roomy_context();
  context.prepare(shapes, on_device ? std::string_view(device_) : "cpu");
  prepared_.push_back({shapes, on_device, context.output_types(), &context});
  return prepared_.back();
}

const Runner::Prepared& Runner::find(const std::vector<Shape>& shapes, bool on_device) {
  for (const Prepared& known : prepared_) {
    if (known.on_device == on_device && known.shapes == shapes) return known;
  }
  others_.prepare(shapes, on_device ? std::string_view(device_) : "cpu");
  other_ = {shapes, on_device, others_.output_types(), &others_};
  return other_;
}

int64_t Runner::plans() const {
  int64_t plans = plans_made(others_);
  for (const Context& context : contexts_) plans += plans_made(context);
  return plans;
}

}  // namespace octet::triton
