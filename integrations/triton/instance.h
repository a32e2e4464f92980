// SPDX-License-Identifier: Apache-2.0
// One instance of a model: it executes what the server's scheduler gives it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "batch_plan.h"
#include "model.h"
#include "pieces.h"
#include "request.h"
#include "runner.h"

namespace octet::triton {

class Instance {
 public:
  Instance(TRITONBACKEND_ModelInstance* server, ServedModel& model);

  // Answers and releases each of the requests, whatever happens. One call at a time.
  void execute(std::span<TRITONBACKEND_Request* const> requests);

 private:
  // Memory for what does not lie in one piece, of the host and of the device; it grows to the largest batch and stays.
  struct Staging {
    Tensor host;
    std::shared_ptr<std::byte> device;
    int64_t device_bytes = 0;
  };

  // What requests of one shape run together.
  struct Group {
    std::span<Request> requests;
    int64_t rows = 0;
    std::vector<Pieces> inputs, outputs;
    std::vector<uint64_t> input_rows, output_rows;  // bytes of a row
    bool on_device = false;
    Times times;
  };
  // One run of it.
  struct Run {
    int64_t first = 0, rows = 0, size = 0;
  };

  std::vector<Request> read(std::span<TRITONBACKEND_Request* const> requests, const Times& times);
  void run_all(std::span<Request> requests, uint64_t start);
  void run_group(Group& group);
  void place_outputs(Group& group, const Runner::Prepared& prepared);
  void run_batches(Group& group, const std::vector<int64_t>& sizes);
  const Runner::Prepared& prepared_for(const Group& group, int64_t size);
  void run_batch(const Group& group, const Run& run, const Runner::Prepared& prepared);
  // In one piece, where the batch lies in one or in a GPU's memory; else rows where they lie.
  void run_joined(const Group& group, const Run& run, const Runner::Prepared& prepared);
  void run_rows(const Group& group, const Run& run, const Runner::Prepared& prepared);
  void run_sized_by_data(Group& group);
  std::byte* staging(Staging& staging, int64_t bytes, bool on_device);
  void clear(std::byte* data, uint64_t bytes, bool on_device);
  std::vector<Request> taken(std::span<TRITONBACKEND_Request* const> requests) const;
  TensorView input_view(const Group& group, const Run& run, const Runner::Prepared& prepared,
                        size_t i);
  // Where each row of a run lies; those that lie in parts, are nobody's or padding have memory of the instance.
  std::vector<std::byte*> rows_of(const Pieces& pieces, const Run& run, uint64_t row,
                                  Staging& staging);
  void fill_rows(const Pieces& pieces, const Run& run, uint64_t row,
                 std::span<std::byte* const> rows);
  std::vector<Shape> shapes_for(const Group& group, int64_t size) const;
  std::string_view memory(bool on_device) const {
    return on_device ? std::string_view(runner_.device()) : "cpu";
  }
  // Some of what was run, to be counted; whatever becomes of it.
  void offer_to_clip_metrics(const Group& group) const;
  void count(const Group& group, const std::vector<int64_t>& sizes, int64_t plans_before);

  TRITONBACKEND_ModelInstance* server_;
  ServedModel& model_;
  Runner runner_;
  BatchPlan plan_;
  int owner_;
  std::vector<Staging> input_staging_, output_staging_;
  Staging zeros_;  // of the device
  uint64_t copied_ = 0;
};

}  // namespace octet::triton
