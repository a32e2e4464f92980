// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_calls.h"

#include <algorithm>

#include "cli/fail.h"
#include "octet/device_memory.h"
#include "octet/machine.h"
#include "octet/tensor_view.h"

namespace octet::cli {
namespace {

constexpr int64_t kRunsBehind = 8;  // given before anybody waits

// Tensors of one run in the memory of a device.
struct DeviceTensors {
  std::string device;
  std::vector<std::shared_ptr<std::byte>> memory;
  std::vector<TensorView> inputs;
  std::vector<MutableTensorView> outputs;

  std::byte* allocate(const TensorType& type) {
    memory.push_back(allocate_on(device, static_cast<int64_t>(type.bytes())));
    return memory.back().get();
  }
  void add_input(const Tensor& tensor) {
    std::byte* data = allocate(tensor.type());
    copy_memory(data, tensor.data(), static_cast<int64_t>(tensor.bytes()), device);
    inputs.push_back({tensor.type(), data, {}, device});
  }
  void add_output(const TensorType& type) { outputs.push_back({type, allocate(type), {}, device}); }
  std::vector<Tensor> copied_outputs() const {
    std::vector<Tensor> copies;
    for (const MutableTensorView& output : outputs) {
      Tensor& copy = copies.emplace_back(output.type.dtype, output.type.shape);
      copy_memory(copy.mutable_data(), output.data, static_cast<int64_t>(copy.bytes()), device);
    }
    return copies;
  }
};

// As the context is prepared; where data tell sizes, of a run.
std::vector<TensorType> output_types(Context& context, const std::vector<Tensor>& inputs) {
  std::vector<TensorType> types = context.output_types();
  const auto known = [](const TensorType& type) { return type.shape.is_static(); };
  if (std::ranges::all_of(types, known)) return types;
  types.clear();
  for (const Tensor& output : context.run(inputs)) types.push_back(output.type());
  return types;
}

}  // namespace

BenchCalls calls_with_transfers(Context& context, const std::vector<Tensor>& inputs) {
  auto outputs = std::make_shared<std::vector<Tensor>>(context.run(inputs));
  return {1, [&context, &inputs, outputs] { context.run_into(inputs, *outputs); },
          [outputs] { return *outputs; }};
}

BenchCalls calls_on_device(Context& context, const std::vector<Tensor>& inputs,
                           const std::string& device) {
  if (device == "cpu")
    fail(
        Error::Code::unsupported,
        "--no-transfers measures a device with memory of its own; expected --device cuda, got cpu");
  auto tensors = std::make_shared<DeviceTensors>();
  tensors->device = device_info(device).name;
  for (const Tensor& input : inputs) tensors->add_input(input);
  for (const TensorType& type : output_types(context, inputs)) tensors->add_output(type);
  const auto give = [&context, tensors] {
    for (int64_t run = 0; run < kRunsBehind; ++run)
      context.run_into(tensors->inputs, tensors->outputs, {.stream = nullptr});
    context.synchronize();
  };
  give();
  return {kRunsBehind, give, [tensors] { return tensors->copied_outputs(); }};
}

}  // namespace octet::cli
