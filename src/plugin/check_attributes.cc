// SPDX-License-Identifier: Apache-2.0
// Attributes: at the edges of what they may be, and gone when an instance is made.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "core/check.h"
#include "graph/text.h"
#include "plugin/check_trials.h"

namespace octet {
namespace {

// In memory that nobody may read any more when create() has returned: an instance keeps copies.
class GuardedAttributes final : public ShownAttributes {
 public:
  const octet_plugin_value* show(const std::vector<octet_plugin_value>& values) override {
    if (kept_.size() >= kMostKept) kept_.pop_front();
    s64 bytes = std::ssize(values) * s64{sizeof(octet_plugin_value)};
    for (const octet_plugin_value& v : values) bytes += room(v);
    auto& memory = *kept_.emplace_back(std::make_unique<GuardedMemory>(
        bytes, "the attributes that create() was shown", GuardedMemory::At::end));
    auto* shown = reinterpret_cast<octet_plugin_value*>(memory.data());
    std::byte* at = memory.data() + values.size() * sizeof(octet_plugin_value);
    for (size_t i = 0; i < values.size(); ++i) {
      shown[i] = values[i];
      put(shown[i].ints, values[i], at);
      put(shown[i].floats, values[i], at);
      put(shown[i].text, values[i], at);
      at += room(values[i]);
    }
    return shown;
  }
  void take_back() override { kept_.back()->take_back(); }

 private:
  static constexpr size_t kMostKept = 64;

  // Of one list of any kind, and the zero behind a text.
  static s64 room(const octet_plugin_value& value) {
    const s64 most = sizeof(s64);
    return (static_cast<s64>(value.count) + 1) * most;
  }
  template <class T>
  static void put(const T*& pointer, const octet_plugin_value& value, std::byte* to) {
    if (pointer == nullptr) return;
    const size_t zero = std::is_same_v<T, char> ? 1 : 0;
    std::memcpy(to, pointer, (value.count + zero) * sizeof(T));
    pointer = reinterpret_cast<const T*>(to);
  }

  std::deque<std::unique_ptr<GuardedMemory>> kept_;
};

// The edges of what a model may give for an attribute.
std::vector<AttrValue> edges_of(const PluginAttribute& a) {
  std::vector<AttrValue> values;
  const bool bounded = a.least < a.most;
  const size_t most = std::min<u64>(a.max_count == 0 ? 16 : a.max_count, kMaxPluginValues);
  for (const f64 edge : {bounded ? a.least : -1e6, bounded ? a.most : 1e6, 0.0}) {
    if (bounded && (edge < a.least || edge > a.most)) continue;
    const f32 real = static_cast<f32>(edge);
    const bool inside = !bounded || (f64{real} >= a.least && f64{real} <= a.most);
    if (a.type == OCTET_ATTRIBUTE_INT) values.emplace_back(static_cast<s64>(edge));
    if (a.type == OCTET_ATTRIBUTE_FLOAT && inside) values.emplace_back(real);
    for (const size_t count : {static_cast<size_t>(a.min_count), most}) {
      if (a.type == OCTET_ATTRIBUTE_INTS)
        values.emplace_back(std::vector<s64>(count, static_cast<s64>(edge)));
      if (a.type == OCTET_ATTRIBUTE_FLOATS && inside)
        values.emplace_back(std::vector<f32>(count, real));
    }
  }
  if (a.type == OCTET_ATTRIBUTE_TEXT) {
    for (const std::string& choice : a.choices) values.emplace_back(choice);
    if (a.choices.empty()) {
      for (const size_t count : {static_cast<size_t>(a.min_count), most})
        values.emplace_back(std::string(count, 'x'));
    }
  }
  return values;
}

// Numbers of rounds or sizes beyond these are taken, but may be long in coming.
bool is_quick(const AttrValue& value) {
  constexpr f64 kMost = 1024;
  const auto small = [](auto number) { return std::fabs(static_cast<f64>(number)) <= kMost; };
  if (const auto* i = std::get_if<s64>(&value)) return small(*i);
  if (const auto* f = std::get_if<f32>(&value)) return small(*f);
  if (const auto* i = std::get_if<std::vector<s64>>(&value)) return std::ranges::all_of(*i, small);
  if (const auto* f = std::get_if<std::vector<f32>>(&value)) return std::ranges::all_of(*f, small);
  return true;
}

// What an instance that was made of these does with the shapes of a case: nothing to other memory. It may refuse those shapes, or fail.
void run_at_edge(const PluginOp& op, const CheckCase& of, bool quick, u64 seed) {
  for (const PluginCombination& c : op.declaration.combinations) {
    if (c.device != OCTET_DEVICE_HOST) continue;
    try {
      const Trial trial = make_trial(op, c, of, seed);
      if (quick) run_guarded(trial, step_of(trial), {});
    } catch (const Error& error) {
      if (error.code() == kWrong) throw;
    }
  }
}

}  // namespace

// Taken, or refused with a sentence.
bool takes_instance(const PluginOp& op, const Node& node, const std::string& what) try {
  const PluginInstance instance(op, node);
  return true;
} catch (const Error& error) {
  if (error.code() == Error::Code::invalid_model &&
      error.message().find("does not say why") == std::string::npos)
    return false;
  fail(kWrong, "{}: {}", what, error.message());
}

std::string check_attributes(const PluginOp& op, u64 seed) {
  GuardedAttributes guarded;
  op.shown = &guarded;
  const CheckCase first = cases_of(op, seed).front();
  const Node& valid = first.node;
  if (!takes_instance(op, valid, "the attributes of a case"))
    fail(kWrong, "create refuses the attributes of its own case");
  int count = 0, refused = 0;
  for (const PluginAttribute& a : op.declaration.attributes) {
    for (const AttrValue& value : edges_of(a)) {
      Node node = valid;
      node.attrs.set(a.name, value);
      note_stage(fmt::format("create with an edge of attribute '{}'", a.name));
      ++count;
      if (!takes_instance(op, node, "attribute '" + a.name + "' at its edge")) {
        ++refused;
        continue;
      }
      CheckCase at = first;
      at.node = node;
      note_stage(fmt::format("a run with an edge of attribute '{}', {}", a.name,
                             print_attribute(value).substr(0, 40)));
      run_at_edge(op, at, is_quick(value), seed);
    }
  }
  for (const PluginCombination& c : op.declaration.combinations) {
    if (c.device != OCTET_DEVICE_HOST) continue;
    note_stage(fmt::format("a run of combination '{}', long after create", c.name));
    const Trial trial = make_trial(op, c, first, seed);
    run_plain(trial, step_of(trial));
  }
  return fmt::format("{} edges, {} of them refused", count, refused);
}

}  // namespace octet
