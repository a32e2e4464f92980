// SPDX-License-Identifier: Apache-2.0
#include "plugin/device_trial.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"

namespace octet {
namespace {

constexpr s64 kMargin = 4096;
constexpr auto kWrote = Error::Code::invalid_argument;

void upload(CheckStream& stream, std::byte* to, const std::vector<std::byte>& image) {
  stream.copy(to, image.data(), static_cast<s64>(image.size()));
  stream.synchronize();
}

}  // namespace

std::byte* DeviceTrial::Part::data() const { return memory.get() + kMargin; }

DeviceTrial::Part DeviceTrial::make_part(const std::string& name, s64 bytes) const {
  const s64 all = bytes + 2 * kMargin;
  return {name, bytes, device_.allocate(all), std::vector<std::byte>(static_cast<size_t>(all))};
}

DeviceTrial::DeviceTrial(const CheckDevice& device, Trial trial, s64 workspace_bytes)
    : device_(device),
      trial_(std::move(trial)),
      workspace_(make_part("the workspace that it asked for", workspace_bytes)) {
  const Declaration& d = trial_.op->declaration;
  for (size_t i = 0; i < trial_.inputs.size(); ++i) {
    const std::string name = "input '" + d.input(i).name + "'";
    const s64 bytes = trial_.of.omits(i) ? 0 : static_cast<s64>(trial_.inputs[i].bytes());
    inputs_.push_back(make_part(name, bytes));
    kept_inputs_.push_back(make_part(name, bytes));
  }
  for (size_t i = 0; i < trial_.outputs.size(); ++i) {
    const std::string name = "output '" + d.output(i).name + "'";
    const s64 rank = trial_.open[i] != 0 ? trial_.outputs[i].shape.rank() : 0;
    outputs_.push_back(make_part(name, trial_.outputs[i].bytes()));
    dims_.push_back(make_part("told_dims of " + name, rank * s64{sizeof(s64)}));
  }
}

void DeviceTrial::poison(Part& part, CheckStream& stream, const RunMemory& memory) {
  std::ranges::fill(part.image, memory.around);
  std::fill_n(part.image.begin() + kMargin, part.bytes, memory.poison);
  upload(stream, part.memory.get(), part.image);
}

void DeviceTrial::fill(CheckStream& stream, const RunMemory& memory) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Part &input = inputs_[i], &kept = kept_inputs_[i];
    poison(input, stream, memory);
    const Tensor laid = to_layout(format_of(trial_.combination->inputs, i), trial_.inputs[i]);
    kept.image = input.image;
    if (input.bytes > 0) std::memcpy(kept.image.data() + kMargin, laid.data(), laid.bytes());
    upload(stream, kept.memory.get(), kept.image);
  }
  for (Part& output : outputs_) poison(output, stream, memory);
  for (size_t i = 0; i < dims_.size(); ++i) {
    poison(dims_[i], stream, memory);
    if (dims_[i].bytes == 0) continue;
    std::memcpy(dims_[i].image.data() + kMargin, trial_.outputs[i].shape.begin(),
                static_cast<size_t>(dims_[i].bytes));
    upload(stream, dims_[i].memory.get(), dims_[i].image);
  }
  poison(workspace_, stream, memory);
}

void DeviceTrial::give(CheckStream& stream, const PluginStep& step) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    stream.copy(inputs_[i].data(), kept_inputs_[i].data(), inputs_[i].bytes);
    in.push_back(trial_.of.omits(i) ? nullptr : inputs_[i].data());
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    out.push_back(trial_.of.omits_result(i) ? nullptr : outputs_[i].data());
  std::vector<s64*> told;
  for (const Part& dims : dims_)
    told.push_back(dims.bytes > 0 ? reinterpret_cast<s64*>(dims.data()) : nullptr);
  step_ = &step;
  step.run(in.data(), out.data(), workspace_.data(),
           {.stream = stream.handle(), .device = device_.index(), .told_dims = told.data()});
}

std::vector<std::byte> DeviceTrial::read(const Part& part, CheckStream& stream) const {
  std::vector<std::byte> now(part.image.size());
  stream.copy(now.data(), part.memory.get(), static_cast<s64>(now.size()));
  stream.synchronize();
  const auto end = part.image.begin() + kMargin + part.bytes;
  if (!std::equal(part.image.begin(), part.image.begin() + kMargin, now.begin()))
    fail(kWrote, "{}: it writes before the start of {}", trial_.text(), part.name);
  if (!std::equal(end, part.image.end(), now.begin() + kMargin + part.bytes))
    fail(kWrote, "{}: it writes past the end of {}", trial_.text(), part.name);
  return now;
}

std::vector<Shape> DeviceTrial::sizes(CheckStream& stream) const {
  std::vector<std::vector<s64>> dims;
  for (const Part& part : dims_) {
    const std::vector<std::byte> now = read(part, stream);
    dims.emplace_back(static_cast<size_t>(part.bytes) / sizeof(s64));
    if (part.bytes > 0)
      std::memcpy(dims.back().data(), now.data() + kMargin, static_cast<size_t>(part.bytes));
  }
  return step_->told_sizes(dims);
}

std::vector<Tensor> DeviceTrial::results(CheckStream& stream) {
  try {
    stream.synchronize();
  } catch (const Error& error) {
    fail(kWrote, "{}: {}", trial_.text(), error.message());
  }
  std::vector<Tensor> results;
  const std::vector<Shape> dense = sizes(stream);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::vector<std::byte> now = read(outputs_[i], stream);
    const bool is_read = !trial_.of.omits_result(i);
    results.push_back(is_read ? result_of(trial_, i, now.data() + kMargin, dense[i]) : unread());
  }
  read(workspace_, stream);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (read(inputs_[i], stream) != kept_inputs_[i].image)
      fail(kWrote, "{}: it writes to {}", trial_.text(), inputs_[i].name);
  }
  return results;
}

int DeviceTrial::first_written(CheckStream& stream) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (read(outputs_[i], stream) != outputs_[i].image) return static_cast<int>(i);
  }
  return -1;
}

std::vector<Tensor> run_on_device(const CheckDevice& device, const Trial& trial,
                                  const PluginStep& step, const RunMemory& memory) {
  DeviceTrial run(device, trial, step.workspace_bytes());
  const auto stream = device.make_stream();
  run.fill(*stream, memory);
  run.give(*stream, step);
  return run.results(*stream);
}

}  // namespace octet
