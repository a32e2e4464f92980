// SPDX-License-Identifier: Apache-2.0
#include "plugin/plugin_op.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/content_hash.h"
#include "graph/text.h"
#include "ops/shared/node_parser.h"
#include "plugin/call.h"
#include "plugin/codes.h"
#include "plugin/declaration_reader.h"
#include "plugin/evaluate.h"

namespace octet {
namespace {

constexpr size_t kKeptInstances = 32;

// Attributes as the C interface has them; points into `attrs`.
std::vector<octet_plugin_value> values_of(const Declaration& declaration, const Attrs& attrs) {
  std::vector<octet_plugin_value> values;
  for (const PluginAttribute& a : declaration.attributes) {
    octet_plugin_value v = {sizeof v, a.name.c_str(), a.type, 0, 1, nullptr, nullptr, nullptr};
    const AttrValue& value = *attrs.find(a.name);
    if (const s64* i = std::get_if<s64>(&value)) v.ints = i;
    if (const f32* f = std::get_if<f32>(&value)) v.floats = f;
    if (const auto* text = std::get_if<std::string>(&value)) {
      v.text = text->c_str();
      v.count = text->size();
    }
    if (const auto* ints = std::get_if<std::vector<s64>>(&value)) {
      v.ints = ints->data();
      v.count = ints->size();
    }
    if (const auto* floats = std::get_if<std::vector<f32>>(&value)) {
      v.floats = floats->data();
      v.count = floats->size();
    }
    values.push_back(v);
  }
  return values;
}

std::string key_of(const Node& node) {
  std::string key;
  for (const auto& [name, value] : node.attrs.entries()) {
    if (name == kPluginState) {
      ContentHash hash;
      const Tensor& state = std::get<Tensor>(value);
      hash.add({state.data(), state.bytes()});
      key += hash.digest().hex();
    } else if (!name.starts_with("octet.")) {
      key += name + '=' + print_attribute(value) + ';';
    }
  }
  return key;
}

void check_state(const Node& node) {
  const AttrValue* state = node.attrs.find(kPluginState);
  if (state == nullptr) return;
  const Tensor* bytes = std::get_if<Tensor>(state);
  if (bytes == nullptr || bytes->dtype() != Dtype::u8 || bytes->type().bytes() > kMaxPluginState)
    fail(Error::Code::invalid_model, "attribute '{}' is no state of a plugin", kPluginState);
}

void check_count(const std::vector<PluginPort>& ports, size_t has, size_t least, const char* side) {
  if (has >= least && has <= kMaxPluginTensors) return;
  fail(Error::Code::invalid_model, "{} {}; port '{}' takes {} to {}", has, side, ports.back().name,
       ports.back().min_count, kMaxPluginTensors);
}

// What a model leaves out at the end is left out like any other input.
void check_inputs(const Declaration& d, const Node& node) {
  const size_t fixed = d.fixed_inputs();
  for (size_t i = 0; i < fixed; ++i) {
    if (node.input(i) == kNoValue && !d.input(i).optional)
      fail(Error::Code::invalid_model, "input {} '{}' is missing, and is not optional", i,
           d.input(i).name);
  }
  const bool variadic = fixed < d.inputs.size();
  check_count(d.inputs, node.inputs.size(), variadic ? fixed + d.inputs.back().min_count : 0,
              "inputs");
}

void check_outputs(const Declaration& d, const Node& node) {
  const PluginPort& last = d.outputs.back();
  const size_t all = d.outputs.size() - 1 + (last.variadic ? last.min_count : 1);
  check_count(d.outputs, node.outputs.size(), all, "outputs");
}

void verify_real(const Graph&, const Node& node) try {
  const Declaration& declaration = plugin_of(node)->declaration;
  checked_attributes(declaration, node.attrs);
  check_state(node);
  check_inputs(declaration, node);
  check_outputs(declaration, node);
} catch (Error& error) {
  error.add_context("checking " + describe(node) + " against what its plugin declares");
  throw;
}

void verify_codes(const Graph& graph, const Node& node) {
  verify_real(graph, node);
  verify_plugin_codes(graph, node);
}

// The node as declared, with the state that its instance has.
void parse(NodeParser& parser) {
  const PluginOp& op = *plugin_of(parser.node);
  for (const auto& [name, value] : parser.node.attrs.entries()) {
    if (name.starts_with("octet."))
      fail(Error::Code::invalid_model, "attribute '{}' is not declared", name);
  }
  parser.node.attrs = checked_attributes(op.declaration, parser.node.attrs);
  std::vector<ValueId>& outputs = parser.node.outputs;
  const std::vector<PluginPort>& ports = op.declaration.outputs;
  if (outputs.size() < ports.size() && !ports.back().variadic)
    outputs.resize(ports.size(), kNoValue);  // all are written, and those read by nobody too
  const std::vector<std::byte> state = op.instance_of(parser.node)->state();
  if (state.empty()) return;
  Tensor bytes(Dtype::u8, Shape{static_cast<s64>(state.size())});
  std::memcpy(bytes.mutable_data(), state.data(), state.size());
  parser.node.attrs.set(kPluginState, std::move(bytes));
}

Arity arity_of(const std::vector<PluginPort>& ports) {
  Arity arity{0, static_cast<int>(ports.size())};
  for (const PluginPort& port : ports) {
    if (!port.optional && !port.variadic) arity.min = static_cast<int>(&port - ports.data()) + 1;
    if (port.variadic) arity.max = -1;
  }
  const PluginPort& last = ports.back();
  if (last.variadic) arity.min = static_cast<int>(ports.size() - 1 + last.min_count);
  return arity;
}

// Codes of an operator that moves elements go through it; others have a form of their own.
QuantKind kind_of(const Declaration& d) {
  const auto with_codes = [](const PluginCombination& c) { return c.has_codes(); };
  if (std::ranges::none_of(d.combinations, with_codes)) return QuantKind::none;
  return d.commutes() ? QuantKind::move_codes : QuantKind::arithmetic;
}

}  // namespace

PluginInstance::PluginInstance(const PluginOp& op, const Node& node) : op_(op) {
  const Declaration& d = op.declaration;
  const Attrs attrs = checked_attributes(d, node.attrs);
  check_state(node);
  if (d.raw.create == nullptr) return;
  const std::vector<octet_plugin_value> values = values_of(d, attrs);
  PluginMessage message;
  octet_plugin_creation creation = {};
  creation.size = sizeof creation;
  creation.op = d.given;
  creation.attribute_count = values.size();
  creation.attributes = op.shown != nullptr ? op.shown->show(values) : values.data();
  if (const AttrValue* state = node.attrs.find(kPluginState)) {
    creation.state = std::get<Tensor>(*state).data();
    creation.state_bytes = std::get<Tensor>(*state).bytes();
  }
  creation.message = message.data();
  creation.message_capacity = kPluginMessageBytes;
  const s32 status = guard_plugin(op, "create", [&] { return d.raw.create(&creation); });
  if (op.shown != nullptr) op.shown->take_back();
  message.check(op, "create", status);
  if (creation.instance == nullptr)
    check_plugin_status(op, "create", OCTET_PLUGIN_FAILED, "it returned no instance");
  instance_ = creation.instance;
}

PluginInstance::~PluginInstance() {
  try {
    destroy();
  } catch (...) {  // nothing can be told to anybody; octet plugin check finds it
  }
}

void PluginInstance::destroy() {
  if (instance_ == nullptr) return;
  void* own = std::exchange(instance_, nullptr);
  const Declaration& d = op_.declaration;
  guard_plugin(op_, "destroy", [&] {
    d.raw.destroy(d.given, own);
    return 0;
  });
}

std::vector<std::byte> PluginInstance::state() const {
  const Declaration& d = op_.declaration;
  if (d.raw.serialize == nullptr) return {};
  const auto write = [&](std::byte* to, u64 capacity) {
    return guard_plugin(op_, "serialize",
                        [&] { return d.raw.serialize(d.given, instance_, to, capacity); });
  };
  const s64 bytes = write(nullptr, 0);
  if (bytes < 0 || bytes > kMaxPluginState)
    check_plugin_status(op_, "serialize", OCTET_PLUGIN_FAILED,
                        fmt::format("it has {} bytes", bytes).c_str());
  std::vector<std::byte> state(static_cast<size_t>(bytes));
  if (bytes > 0 && write(state.data(), state.size()) != bytes)
    check_plugin_status(op_, "serialize", OCTET_PLUGIN_FAILED,
                        "its size changes from call to call");
  return state;
}

PluginOp::PluginOp(Declaration declared) : declaration(std::move(declared)) {
  real_name = declaration.full_name();
  codes_name = real_name + ".codes";
  real_traits.foreign_attributes = codes_traits.foreign_attributes = true;
  real_traits.verify = verify_real;
  codes_traits.verify = verify_codes;
  OpDef& r = real;
  r.name = real_name;
  r.domain = declaration.domain;
  r.inputs = arity_of(declaration.inputs);
  r.outputs = arity_of(declaration.outputs);
  r.parse = parse;
  r.infer = infer_plugin;
  r.eval = eval_plugin;
  r.quant.kind = kind_of(declaration);
  r.quant.moved_input = -1;
  r.traits = &real_traits;
  OpDef& c = codes;
  c = r;
  c.name = codes_name;
  c.domain = "octet";
  c.parse = nullptr;
  c.quant = {};
  c.traits = &codes_traits;
  real.plugin = codes.plugin = this;
}

std::shared_ptr<const PluginInstance> PluginOp::instance_of(const Node& node) const {
  const std::string key = key_of(node);
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(kept_, key, &Kept::key);
  if (at != kept_.end()) {
    std::rotate(kept_.begin(), at, at + 1);  // the one used last comes first
    return kept_.front().instance;
  }
  auto made = std::make_shared<const PluginInstance>(*this, node);
  if (kept_.size() >= kKeptInstances) kept_.pop_back();
  kept_.insert(kept_.begin(), {key, made});
  return made;
}

const PluginOp* plugin_of(const Node& node) {
  return node.op->eval == eval_plugin ? static_cast<const PluginDef*>(node.op)->plugin : nullptr;
}

bool is_plugin_codes(const Node& node) {
  const PluginOp* op = plugin_of(node);
  return op != nullptr && node.op == &op->codes;
}

}  // namespace octet
