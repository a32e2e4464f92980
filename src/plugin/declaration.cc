// SPDX-License-Identifier: Apache-2.0
#include "plugin/declaration.h"

#include <algorithm>

#include "core/content_hash.h"
#include "graph/text.h"
#include "plugin/declaration_reader.h"

namespace octet {
namespace {

constexpr Dtype kTypes[] = {Dtype::f32, Dtype::f16, Dtype::bf16,   Dtype::f64, Dtype::s8,
                            Dtype::u8,  Dtype::s16, Dtype::u16,    Dtype::s32, Dtype::u32,
                            Dtype::s64, Dtype::u64, Dtype::boolean};  // from OCTET_TYPE_F32 on

std::vector<std::string> split_choices(const char* choices, std::string_view what) {
  std::vector<std::string> result;
  if (choices == nullptr) return result;
  const std::string text = plugin_text(choices, what, kMaxPluginValues);
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('|', at), text.size());
    result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

PluginAttribute read_attribute(const octet_plugin_attribute* from) {
  const octet_plugin_attribute known = known_part(from, "an attribute");
  PluginAttribute attribute;
  attribute.name = plugin_name(known.name, "the name of an attribute");
  const std::string what = "attribute '" + attribute.name + "'";
  if (known.type < OCTET_ATTRIBUTE_INT || known.type > OCTET_ATTRIBUTE_FLOATS)
    bad_declaration("{} is of the unknown kind {}", what, known.type);
  if (!std::isfinite(known.least) || !std::isfinite(known.most) || known.least > known.most)
    bad_declaration("{} lies from {} to {}", what, known.least, known.most);
  if (known.min_count > known.max_count || known.max_count > kMaxPluginValues)
    bad_declaration("{} has {} to {} values", what, known.min_count, known.max_count);
  attribute.type = known.type;
  attribute.least = known.least;
  attribute.most = known.most;
  attribute.min_count = known.min_count;
  attribute.max_count = known.max_count;
  attribute.choices = split_choices(known.choices, "the choices of " + what);
  if (known.otherwise == nullptr) return attribute;
  attribute.otherwise = read_value(known.otherwise, known.type, "the default of " + what);
  try {
    check_value(attribute, *attribute.otherwise);
  } catch (const Error& error) {
    bad_declaration("the default of {}: {}", what, error.message());
  }
  return attribute;
}

PluginPort read_port(const octet_plugin_port* from, bool last) {
  const octet_plugin_port known = known_part(from, "a port");
  PluginPort port;
  port.name = plugin_name(known.name, "the name of a port");
  port.optional = (known.flags & OCTET_PORT_OPTIONAL) != 0;
  port.variadic = (known.flags & OCTET_PORT_VARIADIC) != 0;
  port.constant = (known.flags & OCTET_PORT_CONSTANT) != 0;
  port.data_sized = (known.flags & OCTET_PORT_DATA_SIZED) != 0;
  port.min_count = known.min_count;
  port.min_rank = known.min_rank;
  port.max_rank = known.max_rank;
  if (known.flags > 15) bad_declaration("port '{}' has unknown flags {}", port.name, known.flags);
  if (port.variadic && !last) bad_declaration("port '{}' is variadic and not the last", port.name);
  if (port.min_count > kMaxPluginTensors)
    bad_declaration("port '{}' needs {} tensors", port.name, port.min_count);
  if (port.min_rank < 0 || port.max_rank > OCTET_PLUGIN_MAX_RANK || port.min_rank > port.max_rank)
    bad_declaration("port '{}' has ranks {} to {}", port.name, port.min_rank, port.max_rank);
  return port;
}

std::vector<PluginPort> read_ports(const octet_plugin_port* from, u64 count,
                                   std::string_view what) {
  check_count(count, kMaxPluginPorts, from, what);
  std::vector<PluginPort> ports;
  for (u64 i = 0; i < count; ++i) {
    ports.push_back(read_port(plugin_element(from, i), i + 1 == count));
    const auto same = [&](const PluginPort& port) { return port.name == ports.back().name; };
    if (std::count_if(ports.begin(), ports.end(), same) > 1)
      bad_declaration("two {} are called '{}'", what, ports.back().name);
  }
  return ports;
}

void check_format(const PluginFormat& format, const std::string& what) {
  const auto dtype = dtype_of(format.type);
  if (!dtype) bad_declaration("{}: unknown element type {}", what, format.type);
  if (format.layout > OCTET_LAYOUT_NHWC)
    bad_declaration("{}: unknown layout {}", what, format.layout);
  if (format.params > OCTET_PARAMS_PER_CHANNEL)
    bad_declaration("{}: unknown parameters {}", what, format.params);
  const bool byte = *dtype == Dtype::u8 || *dtype == Dtype::s8;
  if (format.is_codes() && !byte)
    bad_declaration("{}: {} has no scale; codes are u8 or s8", what, dtype_name(*dtype));
  if (format.symmetric && (!format.is_codes() || *dtype != Dtype::s8))
    bad_declaration("{}: only s8 codes are symmetric", what);
  if (format.axis < 0 || format.axis >= OCTET_PLUGIN_MAX_RANK)
    bad_declaration("{}: axis {}", what, format.axis);
}

std::vector<PluginFormat> read_formats(const octet_plugin_format* from,
                                       const std::vector<PluginPort>& ports,
                                       const std::string& combination) {
  if (!ports.empty() && from == nullptr) bad_declaration("{}: its formats are null", combination);
  std::vector<PluginFormat> formats;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string what = combination + ", port '" + ports[i].name + "'";
    const octet_plugin_format known = known_part(plugin_element(from, i), what);
    const bool symmetric = (known.flags & OCTET_FORMAT_SYMMETRIC) != 0;
    formats.push_back({known.type, known.layout, known.params, symmetric, known.axis});
    check_format(formats.back(), what);
    if (known.layout == OCTET_LAYOUT_NHWC && (ports[i].min_rank != 4 || ports[i].max_rank != 4))
      bad_declaration("{}: nhwc needs rank 4, the port has {} to {}", what, ports[i].min_rank,
                      ports[i].max_rank);
  }
  return formats;
}

PluginCombination read_combination(const octet_plugin_combination* from, const Declaration& of) {
  PluginCombination combination;
  combination.raw = known_part(from, "a combination");
  combination.given = from;
  combination.name = plugin_name(combination.raw.name, "the name of a combination", "-.");
  const std::string what = "combination '" + combination.name + "'";
  combination.device = combination.raw.device;
  if (combination.device > OCTET_DEVICE_CUDA)
    bad_declaration("{}: unknown device {}", what, combination.device);
  if (combination.raw.run == nullptr) bad_declaration("{}: run is null", what);
  combination.inputs = read_formats(combination.raw.inputs, of.inputs, what);
  combination.outputs = read_formats(combination.raw.outputs, of.outputs, what);
  for (const PluginFormat& output : combination.outputs) {
    if (output.params == OCTET_PARAMS_PER_CHANNEL)
      bad_declaration("{}: results have one scale", what);
  }
  return combination;
}

// Those that are optional may be missing at the end.
void check_case_inputs(u64 count, const Declaration& of) {
  const size_t fixed = of.fixed_inputs();
  u64 least = 0;
  for (size_t i = 0; i < fixed; ++i) {
    if (!of.inputs[i].optional) least = i + 1;
  }
  const PluginPort& last = of.inputs.back();
  const u64 most = last.variadic ? kMaxPluginTensors : fixed;
  if (last.variadic) least = fixed + last.min_count;
  if (count < least || count > most)
    bad_declaration("a case has {} inputs; the operator has {} to {}", count, least, most);
}

PluginCase read_case(const octet_plugin_case* from, const Declaration& of) {
  const octet_plugin_case known = known_part(from, "a case");
  PluginCase result;
  check_count(known.attribute_count, kMaxPluginAttributes, known.attributes,
              "attributes of a case");
  for (u64 i = 0; i < known.attribute_count; ++i) {
    const octet_plugin_value* value = plugin_element(known.attributes, i);
    const octet_plugin_value head = known_part(value, "an attribute of a case");
    const std::string name = plugin_name(head.name, "the name of an attribute of a case");
    result.attributes.set(name, read_value(value, head.type, "attribute '" + name + "' of a case"));
  }
  result.attributes = checked_attributes(of, result.attributes);
  check_count(known.input_count, kMaxPluginTensors, known.ranks, "inputs of a case");
  check_case_inputs(known.input_count, of);
  const s64* dims = known.dims;
  for (u64 i = 0; i < known.input_count; ++i) {
    const s32 rank = known.ranks[i];
    if (rank < 0 || rank > OCTET_PLUGIN_MAX_RANK)
      bad_declaration("a case has an input of rank {}", rank);
    if (rank > 0 && dims == nullptr) bad_declaration("the dimensions of a case are null");
    result.inputs.emplace_back(std::span<const s64>(dims, static_cast<size_t>(rank)));
    dims += rank;
  }
  return result;
}

template <class T>
void same_name_once(const std::vector<T>& list, std::string_view what) {
  for (const T& a : list) {
    if (std::ranges::count(list, a.name, &T::name) > 1)
      bad_declaration("two {} are called '{}'", what, a.name);
  }
}

void read_lists(Declaration& into) {
  const octet_plugin_operator& op = into.raw;
  check_count(op.attribute_count, kMaxPluginAttributes, op.attributes, "attributes");
  for (u64 i = 0; i < op.attribute_count; ++i)
    into.attributes.push_back(read_attribute(plugin_element(op.attributes, i)));
  same_name_once(into.attributes, "attributes");
  into.inputs = read_ports(op.inputs, op.input_count, "inputs");
  into.outputs = read_ports(op.outputs, op.output_count, "outputs");
  if (into.inputs.empty() || into.outputs.empty())
    bad_declaration("it needs an input and an output");
  check_count(op.combination_count, kMaxPluginCombinations, op.combinations, "combinations");
  for (u64 i = 0; i < op.combination_count; ++i)
    into.combinations.push_back(read_combination(plugin_element(op.combinations, i), into));
  if (into.combinations.empty()) bad_declaration("it has no combination of formats");
  same_name_once(into.combinations, "combinations");
  check_count(op.case_count, kMaxPluginCombinations, op.cases, "cases");
  for (u64 i = 0; i < op.case_count; ++i)
    into.cases.push_back(read_case(plugin_element(op.cases, i), into));
}

void check_functions(const Declaration& of) {
  const octet_plugin_operator& op = of.raw;
  if (op.infer == nullptr) bad_declaration("infer (the shape rule) is null");
  if ((op.create == nullptr) != (op.destroy == nullptr))
    bad_declaration("create and destroy: one is null, the other is not");
  if (op.serialize != nullptr && op.create == nullptr)
    bad_declaration("serialize without create: nobody could read the state");
  if (of.commutes() && of.reals() == nullptr)
    bad_declaration("it commutes with quantization, so it needs a combination of reals");
}

void hash_ports(std::string& text, const std::vector<PluginPort>& ports) {
  for (const PluginPort& p : ports)
    text += fmt::format("port {} {} {} {} {} {} {}{}\n", p.name, p.optional, p.variadic, p.constant,
                        p.min_count, p.min_rank, p.max_rank, p.data_sized ? " data_sized" : "");
}

std::string canonical_text(const Declaration& d) {
  std::string text = fmt::format("{} {} {}\n", d.full_name(), d.version, d.flags);
  for (const PluginAttribute& a : d.attributes) {
    text += fmt::format("attribute {} {} {} {} {} {}", a.name, a.type, a.least, a.most, a.min_count,
                        a.max_count);
    for (const std::string& choice : a.choices) text += fmt::format(" |{}", choice);
    if (a.otherwise) text += " = " + print_attribute(*a.otherwise);
    text += '\n';
  }
  hash_ports(text, d.inputs);
  text += "->\n";
  hash_ports(text, d.outputs);
  for (const PluginCombination& c : d.combinations) {
    text += fmt::format("combination {} {}", c.name, c.device);
    for (const PluginFormat& f : c.inputs) text += fmt::format(", {} {}", to_string(f), f.axis);
    text += " ->";
    for (const PluginFormat& f : c.outputs) text += fmt::format(", {}", to_string(f));
    text += '\n';
  }
  return text;
}

std::string hash_of(const std::string& text) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.digest().hex();
}

}  // namespace

std::string plugin_name(const char* text, std::string_view what, std::string_view also) {
  std::string name = plugin_text(text, what);
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           also.find(c) != std::string_view::npos;
  };
  if (name.empty() || !std::ranges::all_of(name, fits))
    bad_declaration("{} is '{}'; letters, digits and _ are allowed{}{}", what, name,
                    also.empty() ? "" : ", and ", also);
  return name;
}

std::optional<Dtype> dtype_of(u32 type) {
  if (type < OCTET_TYPE_F32 || type > OCTET_TYPE_BOOL) return std::nullopt;
  return kTypes[type - OCTET_TYPE_F32];
}

u32 plugin_type(Dtype dtype) {
  const auto* at = std::ranges::find(kTypes, dtype);
  return at == std::end(kTypes) ? 0u : static_cast<u32>(at - kTypes) + OCTET_TYPE_F32;
}

std::string to_string(const PluginFormat& format) {
  const auto dtype = dtype_of(format.type);
  std::string text(dtype ? dtype_name(*dtype) : "?");
  if (format.params == OCTET_PARAMS_PER_TENSOR) text += " per tensor";
  if (format.params == OCTET_PARAMS_PER_CHANNEL) text += " per channel";
  if (format.symmetric) text += " symmetric";
  if (format.layout == OCTET_LAYOUT_NHWC) text += " nhwc";
  return text;
}

bool PluginFormat::means_same(const PluginFormat& other) const {
  return type == other.type && params == other.params && symmetric == other.symmetric &&
         axis == other.axis;
}

bool PluginCombination::has_codes() const {
  return std::ranges::any_of(inputs, &PluginFormat::is_codes) ||
         std::ranges::any_of(outputs, &PluginFormat::is_codes);
}

bool PluginCombination::means_same(const PluginCombination& other) const {
  const auto same = [](const PluginFormat& a, const PluginFormat& b) { return a.means_same(b); };
  return std::ranges::equal(inputs, other.inputs, same) &&
         std::ranges::equal(outputs, other.outputs, same);
}

size_t Declaration::port_of(const std::vector<PluginPort>& ports, size_t tensor) {
  return std::min(tensor, ports.size() - 1);
}

const PluginCombination* Declaration::reals() const {
  for (const PluginCombination& combination : combinations) {
    if (!combination.has_codes() && combination.device == OCTET_DEVICE_HOST) return &combination;
  }
  return nullptr;
}

namespace {

// Nobody can give the codes of results a range before their size is known.
void check_data_sized(const Declaration& d) {
  if (std::ranges::any_of(d.inputs, &PluginPort::data_sized))
    bad_declaration("an input is declared to be sized by data");
  for (const PluginCombination& c : d.combinations) {
    for (size_t i = 0; i < d.outputs.size(); ++i) {
      if (d.outputs[i].data_sized && c.outputs[i].is_codes())
        bad_declaration("data size output '{}', and combination '{}' gives it as codes",
                        d.outputs[i].name, c.name);
    }
  }
}

}  // namespace

Declaration read_declaration(const octet_plugin_operator& op, const octet_plugin& plugin) {
  Declaration declaration;
  declaration.given = &op;
  declaration.raw = known_part(&op, "an operator");
  declaration.name = plugin_name(declaration.raw.name, "the name of an operator");
  try {
    declaration.plugin = plugin_text(plugin.name, "the plugin's name");
    declaration.plugin_version = plugin_text(plugin.version, "the plugin's version");
    declaration.domain = plugin_name(declaration.raw.domain, "its domain", ".-");
    declaration.version = declaration.raw.version;
    declaration.flags = declaration.raw.flags;
    if (declaration.flags > 7) bad_declaration("unknown flags {}", declaration.flags);
    read_lists(declaration);
    check_functions(declaration);
    check_data_sized(declaration);
  } catch (Error& error) {
    error.add_context("in the declaration of operator '" + declaration.name + "'");
    throw;
  }
  declaration.hash = hash_of(canonical_text(declaration));
  return declaration;
}

}  // namespace octet
