// SPDX-License-Identifier: Apache-2.0
// One kernel in the place of a planned step: it reads what the step reads, and writes where the step will write.
#pragma once

#include <memory>
#include <vector>

#include "plan/backend.h"
#include "plan/plan.h"

namespace octet {

class KernelTrial {
 public:
  struct Setting {
    const Plan& plan;
    const PlanStep& step;
    Target target;  // for the step's device
    Queue& queue;   // the step's
  };

  // `args` are the step's; their inputs hold this run's data.
  KernelTrial(const Setting& setting, const Candidate& candidate, const StepArgs& args);

  // Runs the kernel, after whatever its inputs need to change their layout, and microseconds for both.
  f64 run();
  // What the last run wrote, each output dense and row-major.
  std::vector<Tensor> results();

 private:
  struct Form {  // memory of one value in one placement
    TensorType type;
    Placement placement;
    std::byte* data = nullptr;
    std::shared_ptr<std::byte> storage;
  };
  using Step = std::function<void()>;

  TensorType type_of(const Buffer& buffer) const;  // as one group of the step sees it
  Form dense(const TensorType& type, Layout layout) const;
  Form like(const Buffer& buffer, const TensorType& type) const;
  std::shared_ptr<std::byte> allocate(s64 bytes) const;  // where the step's device computes
  Step conversion(const Form& from, const Form& to) const;
  void finish(const Step& step) const;  // runs it to its end
  Form take_input(const Form& live, Layout given, Layout wanted, bool strided);

  const Setting setting_;
  std::vector<Form> inputs_, outputs_;
  std::vector<std::byte*> input_data_, output_data_;
  std::vector<Step> before_, after_;
  std::shared_ptr<std::byte> workspace_;
  std::unique_ptr<Event> begin_, end_;  // of a run
  RunStep kernel_;
};

}  // namespace octet
