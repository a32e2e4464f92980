// SPDX-License-Identifier: Apache-2.0
// The buffers of a plan's values: one in the form that a value's producer leaves, others in the forms that its readers want, and the
// steps that copy and convert between them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "plan/draft.h"

namespace octet {

// How a value lies, and in whose memory.
struct Form {
  Layout layout = Layout::linear;
  u32 space = kHost;
  // The caller's own memory of a device: kernels ask for more than it promises.
  bool callers = false;

  auto operator<=>(const Form&) const = default;
};

class ValueForms {
 public:
  explicit ValueForms(PlanDraft& draft)
      : draft_(draft), plan_(draft.plan), first_(plan_.graph.value_count()) {}

  // The buffer that the value's producer fills.
  u32 add_first(ValueId value, Form form);
  // The buffer of a value in a form, copied and converted from its first form where needed.
  u32 buffer_in(ValueId value, Form wanted);
  // Copies all images, also where the reader takes them in groups.
  void push_copy(ValueId value, u32 source, u32 result, Layout layout);
  // As a request to the device gives the value: in a layout that the device knows.
  Layout layout_for(ValueId value, u32 device) const;

 private:
  Layout known_layout(Layout layout, u32 device) const;
  u32 add_buffer(ValueId value, Form form);
  void add_constant(ValueId value, u32 space);
  u32 whole_buffer_in(ValueId value, Form wanted);
  void cross(ValueId value, u32 source, Form to);

  PlanDraft& draft_;
  Plan& plan_;
  std::vector<Form> first_;  // as each value's producer leaves it
  std::map<std::pair<ValueId, Form>, u32> buffer_of_;
};

// The buffers of the caller: of inputs before any node reads them, of outputs when all steps are there.
void add_inputs(PlanDraft& draft, ValueForms& forms);
void add_outputs(PlanDraft& draft, ValueForms& forms);

}  // namespace octet
