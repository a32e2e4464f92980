// SPDX-License-Identifier: Apache-2.0
// One kernel in the place of a planned step: it reads what the step reads, and writes where the step will write.
#pragma once

#include <memory>
#include <vector>

#include "plan/backend.h"
#include "plan/plan.h"
#include "plan/prepared_store.h"

namespace octet {

class KernelTrial {
 public:
  struct Setting {
    const Plan& plan;
    const PlanStep& step;
    Target target;  // for the step's device
    Queue& queue;   // the step's
    PreparedStore& store;
  };
  struct Form {  // memory of one value in one placement
    TensorType type;
    Placement placement;
    std::byte* data = nullptr;
    std::shared_ptr<std::byte> storage;
  };

  // `args` are the step's; their inputs hold this run's data.
  KernelTrial(const Setting& setting, const Candidate& candidate, const StepArgs& args);

  // Runs the kernel, after whatever its inputs need to change their layout, and microseconds for both.
  f64 run();
  // A copy of what the last run wrote, each output dense in the plan's layout, where the step's device computes.
  std::vector<Form> results();
  // Whether the last run wrote the same bytes.
  bool gives(const std::vector<Form>& results);

 private:
  using Step = std::function<void()>;

  TensorType type_of(const Buffer& buffer) const;  // as one group of the step sees it
  Form dense(const TensorType& type, Layout layout) const;
  Form like(const Buffer& buffer, const TensorType& type) const;
  std::shared_ptr<std::byte> allocate(s64 bytes) const;  // where the step's device computes
  Step conversion(const Form& from, const Form& to) const;
  void finish(const Step& step) const;  // runs it to its end
  bool reads_constant(const Candidate& candidate, size_t i) const;
  Form input(u32 buffer, const std::byte* data) const;
  Form constant_input(size_t i) const;
  Form take_input(const Form& live, Layout given, Layout wanted, bool strided);
  Layout planned_layout(size_t output) const;
  bool same_bytes(const Form& a, const Form& b) const;

  const Setting setting_;
  std::vector<Form> inputs_, outputs_;
  std::vector<u32> output_buffers_;  // of outputs_
  std::vector<std::byte*> input_data_, output_data_;
  std::vector<Step> before_, after_;
  std::shared_ptr<std::byte> workspace_;
  std::unique_ptr<Event> begin_, end_;  // of a run
  RunStep kernel_;
};

}  // namespace octet
