// SPDX-License-Identifier: Apache-2.0
#include "observation.h"

#include <memory>

namespace octet_ort {

bool Observation::open() const {
  const std::lock_guard lock(mutex_);
  return !closed_;
}

bool Observation::add(std::vector<octet::Tensor> inputs) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  for (const octet::Tensor& input : inputs) bytes_ += static_cast<int64_t>(input.bytes());
  kept_.push_back(std::move(inputs));
  ++runs_;
  closed_ = runs_ >= most_runs_ || bytes_ >= most_bytes_;
  return closed_;
}

int64_t Observation::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

bool Observation::short_of_memory() const {
  const std::lock_guard lock(mutex_);
  return runs_ < most_runs_ && bytes_ >= most_bytes_;
}

octet::SampleSource Observation::samples() {
  const auto next = std::make_shared<size_t>(0);
  return [this, next](std::vector<octet::Tensor>& inputs) {
    const std::lock_guard lock(mutex_);
    if (*next >= kept_.size()) return false;
    inputs = kept_[(*next)++];
    return true;
  };
}

void Observation::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  kept_.clear();
}

}  // namespace octet_ort
