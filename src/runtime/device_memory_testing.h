// SPDX-License-Identifier: Apache-2.0
// A tensor in the memory of a device, for tests.
#pragma once

#include <memory>

#include "core/thread_pool.h"
#include "octet/tensor_view.h"
#include "plan/device.h"

namespace octet::test {

class DeviceTensor {
 public:
  DeviceTensor(const Device& device, const TensorType& type)
      : device_(device),
        type_(type),
        queue_(device.make_queue(std::make_shared<ThreadPool>(1))),
        memory_(device.allocate(type.bytes(), "a test")) {}
  DeviceTensor(const Device& device, const Tensor& values) : DeviceTensor(device, values.type()) {
    write(values, *queue_);
    queue_->synchronize();
  }

  MutableTensorView view() const { return {type_, memory_.get(), {}, device_.name()}; }
  void write(const Tensor& values, Queue& queue) const {
    queue.copy(memory_.get(), values.data(), type_.bytes());
  }
  Tensor read() const {
    Tensor values(type_.dtype, type_.shape);
    read(values, *queue_);
    queue_->synchronize();
    return values;
  }
  void read(Tensor& values, Queue& queue) const {
    queue.copy(values.mutable_data(), memory_.get(), type_.bytes());
  }

 private:
  const Device& device_;
  TensorType type_;
  std::shared_ptr<Queue> queue_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace octet::test
