// SPDX-License-Identifier: Apache-2.0
// The memory of a trial on a device: each tensor, and the workspace, between margins that are looked at afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/check_case.h"
#include "plugin/check_device.h"

namespace octet {

class DeviceTrial {
 public:
  DeviceTrial(const CheckDevice& device, Trial trial, s64 workspace_bytes);

  const Trial& trial() const { return trial_; }
  // Outputs, workspace and, until give(), inputs get poison. Returns when that is done.
  void fill(CheckStream& stream, const RunMemory& memory);
  // The inputs, and a call of the plugin: work of the stream.
  void give(CheckStream& stream, const PluginStep& step);  // which lives until results()
  // Waits. Throws Error where the stream has failed, bytes around a tensor were written, or an input was.
  std::vector<Tensor> results(CheckStream& stream);
  // The first output that is no longer poison, or -1; of a stream that nobody holds.
  int first_written(CheckStream& stream);

 private:
  struct Part {
    std::string name;
    s64 bytes;
    std::shared_ptr<std::byte> memory;
    std::vector<std::byte> image;  // of memory, margins included
    std::byte* data() const;
  };
  Part make_part(const std::string& name, s64 bytes) const;
  static void poison(Part& part, CheckStream& stream, const RunMemory& memory);
  // The part as it lies on the device. Throws where its margins were written.
  std::vector<std::byte> read(const Part& part, CheckStream& stream) const;
  // What the work has written into told_dims, within the shape rule.
  std::vector<Shape> sizes(CheckStream& stream) const;

  const CheckDevice& device_;
  Trial trial_;
  std::vector<Part> inputs_, kept_inputs_, outputs_;
  std::vector<Part> dims_;  // of each output, empty where data do not size it
  Part workspace_;
  const PluginStep* step_ = nullptr;
};

// Fills, gives and waits, in a stream of its own.
std::vector<Tensor> run_on_device(const CheckDevice& device, const Trial& trial,
                                  const PluginStep& step, const RunMemory& memory);

}  // namespace octet
