// SPDX-License-Identifier: Apache-2.0
#include "plan/value_forms.h"

#include <algorithm>

namespace octet {

Layout ValueForms::known_layout(Layout layout, u32 device) const {
  const bool known = layout <= Layout::nhwc || draft_.backend(device).channel_blocks;
  return known ? layout : Layout::linear;
}

Layout ValueForms::layout_for(ValueId value, u32 device) const {
  return value == kNoValue ? Layout::linear : known_layout(first_[value].layout, device);
}

u32 ValueForms::add_buffer(ValueId value, Form form) {
  const u32 id = static_cast<u32>(plan_.buffers.size());
  Buffer buffer;
  buffer.value = value;
  buffer.space = form.space;
  buffer.placement.layout = form.layout;
  plan_.buffers.push_back(buffer);
  buffer_of_.emplace(std::pair{value, form}, id);
  return id;
}

u32 ValueForms::add_first(ValueId value, Form form) {
  first_[value] = form;
  return add_buffer(value, form);
}

u32 ValueForms::buffer_in(ValueId value, Form wanted) {
  if (const auto at = buffer_of_.find({value, wanted}); at != buffer_of_.end()) return at->second;
  if (plan_.graph.is_constant(value)) add_constant(value, wanted.space);
  Form from = first_[value];
  if (from.space != wanted.space || from.callers) {
    // A device turns what the host will read: it has the faster memory.
    const bool to_host = wanted.space == kHost && !from.callers;
    from.layout = to_host ? wanted.layout : known_layout(from.layout, wanted.space);
    const u32 source = whole_buffer_in(value, from);
    from.space = wanted.space;
    from.callers = false;
    cross(value, source, from);
  }
  if (from == wanted) return buffer_of_.at({value, wanted});
  const u32 source = buffer_of_.at({value, from});
  const u32 result = add_buffer(value, wanted);
  draft_.push_step({.name = draft_.name_of(value) + ".layout",
                    .inputs = {source},
                    .outputs = {result},
                    .device = wanted.space},
                   draft_.backend(wanted.space)
                       .convert(type_in_groups(plan_.graph, value, draft_.share.groups),
                                from.layout, wanted.layout, draft_.target_of(wanted.space)));
  return result;
}

// Constants lie in each memory where a step reads them.
void ValueForms::add_constant(ValueId value, u32 space) {
  first_[value] = {Layout::linear, space};
  if (buffer_of_.contains({value, first_[value]})) return;
  plan_.buffers[add_buffer(value, first_[value])].kind = Buffer::Kind::constant;
}

// All images, also where the reader takes them in groups.
u32 ValueForms::whole_buffer_in(ValueId value, Form wanted) {
  const BatchShare share = std::exchange(draft_.share, {});
  const u32 buffer = buffer_in(value, wanted);
  draft_.share = share;
  return buffer;
}

void ValueForms::cross(ValueId value, u32 source, Form to) {
  if (buffer_of_.contains({value, to})) return;
  push_copy(value, source, add_buffer(value, to), to.layout);
}

void ValueForms::push_copy(ValueId value, u32 source, u32 result, Layout layout) {
  const u32 from = plan_.buffers[source].space, to = plan_.buffers[result].space;
  const BatchShare share = std::exchange(draft_.share, {});
  // The queue of the device that is not the host.
  draft_.push_step({.name = draft_.name_of(value) + (from == to    ? ".copy"
                                                     : to == kHost ? ".to_host"
                                                                   : ".to_device"),
                    .inputs = {source},
                    .outputs = {result},
                    .device = std::max(to, from)},
                   crossing_copy(plan_.graph.value(value).type, layout, from, to));
  draft_.share = share;
}

}  // namespace octet
