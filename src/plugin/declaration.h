// SPDX-License-Identifier: Apache-2.0
// What a plugin's operator declares, read once through the sizes of its structs and checked: whoever has a Declaration need not ask again.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/types.h"
#include "graph/attrs.h"
#include "octet/plugin.h"

namespace octet {

// More is an error, never left out in silence.
inline constexpr u64 kMaxPluginOperators = 256;
inline constexpr u64 kMaxPluginAttributes = 64;
inline constexpr u64 kMaxPluginPorts = 64;
inline constexpr u64 kMaxPluginTensors = 1024;  // of one node
inline constexpr u64 kMaxPluginCombinations = 4096;
inline constexpr u64 kMaxPluginValues = 65536;  // of one list
inline constexpr s64 kMaxPluginState = s64{64} << 20;

struct PluginAttribute {
  std::string name;
  u32 type = 0;
  std::optional<AttrValue> otherwise;
  f64 least = 0, most = 0;
  u64 min_count = 0, max_count = 0;
  std::vector<std::string> choices;
};

struct PluginPort {
  std::string name;
  bool optional = false, variadic = false, constant = false, data_sized = false;
  u32 min_count = 1;
  int min_rank = 0, max_rank = 0;
};

// Of one port in a combination.
struct PluginFormat {
  u32 type = 0, layout = 0, params = 0;
  bool symmetric = false;
  int axis = 0;

  bool is_codes() const { return params != OCTET_PARAMS_NONE; }
  // Layout apart.
  bool means_same(const PluginFormat& other) const;
};

// Of the i-th tensor of a node: the last format may stand for many.
inline const PluginFormat& format_of(const std::vector<PluginFormat>& formats, size_t tensor) {
  return formats[std::min(tensor, formats.size() - 1)];
}

struct PluginCombination {
  std::string name;
  u32 device = OCTET_DEVICE_HOST;
  std::vector<PluginFormat> inputs, outputs;  // one for each port
  octet_plugin_combination raw;
  const octet_plugin_combination* given = nullptr;  // what the plugin knows it by

  bool has_codes() const;
  // Takes and gives the same numbers; which of them is run is a matter of speed.
  bool means_same(const PluginCombination& other) const;
};

struct PluginCase {
  Attrs attributes;
  std::vector<Shape> inputs;
};

struct Declaration {
  std::string plugin, plugin_version;
  std::string name, domain;
  u32 version = 0;
  u32 flags = 0;
  std::vector<PluginAttribute> attributes;
  std::vector<PluginPort> inputs, outputs;
  std::vector<PluginCombination> combinations;
  std::vector<PluginCase> cases;
  octet_plugin_operator raw;
  const octet_plugin_operator* given = nullptr;
  std::string hash;  // of all that is declared; functions apart

  std::string full_name() const { return domain + "/" + name; }
  bool commutes() const { return (flags & OCTET_OPERATOR_COMMUTES) != 0; }
  bool quantizable() const { return (flags & OCTET_OPERATOR_QUANTIZABLE) != 0; }
  bool concurrent() const { return (flags & OCTET_OPERATOR_CONCURRENT) != 0; }
  // The port that the i-th tensor of a node belongs to: the last one may stand for many.
  static size_t port_of(const std::vector<PluginPort>& ports, size_t tensor);
  const PluginPort& input(size_t tensor) const { return inputs[port_of(inputs, tensor)]; }
  const PluginPort& output(size_t tensor) const { return outputs[port_of(outputs, tensor)]; }
  // How many inputs every node has, given or not.
  size_t fixed_inputs() const { return inputs.size() - (inputs.back().variadic ? 1 : 0); }
  // The first combination of reals on the host: what calibration and comparison run. Null where the plugin has none.
  const PluginCombination* reals() const;
};

// Throws Error(invalid_argument) naming the operator and the field.
Declaration read_declaration(const octet_plugin_operator& op, const octet_plugin& plugin);

// The attributes of a node as declared, with defaults filled in. Attributes of the host ("octet...") are passed over. Throws
// Error(invalid_model) naming the attribute, what is declared and what was got.
Attrs checked_attributes(const Declaration& declaration, const Attrs& attrs);

std::string to_string(const PluginFormat& format);  // "u8 per tensor nhwc"
// The element type of OCTET_TYPE_..., or nothing.
std::optional<Dtype> dtype_of(u32 type);
u32 plugin_type(Dtype dtype);  // OCTET_TYPE_NONE where plugins have none

// Elements of a plugin's array lie so far apart as the first says that it is long.
template <class T>
const T* plugin_element(const T* first, u64 i) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + i * first->size);
}
template <class T>
T* plugin_element(T* first, u64 i) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(first) + i * first->size);
}

}  // namespace octet
