// SPDX-License-Identifier: Apache-2.0
// What a plugin's node on codes says of them: for each tensor the declared format and the parameters of the codes that lie there. This
// file alone knows the attributes ("octet.in_scales" and so on).
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "plugin/declaration.h"

namespace octet {

struct PluginOp;

// Of one tensor. A value of the graph may be u8 where the plugin wants s8: then zero_point is that of the value, and the host turns the
// highest bit when it calls (u8 = s8 + 128 is the same real value).
struct PortCodes {
  PluginFormat format;       // as declared; its layout means nothing
  Dtype stored = Dtype::u8;  // of codes that are written: the type of the value
  std::vector<f32> scales;   // empty: numbers that stand for themselves
  s32 zero_point = 0;

  bool is_codes() const { return !scales.empty(); }
};

struct CodesForm {
  std::vector<PortCodes> inputs, outputs;  // one for each tensor of the node
};

void write_codes(Node& node, const CodesForm& form);
// Throws Error(invalid_model) for a node whose attributes contradict each other or the declaration.
CodesForm read_codes(const Node& node);
// Of a node of reals: formats by the types of its tensors. Throws Error(invalid_model) with the matrix of what is declared.
CodesForm reals_form(const PluginOp& op, std::span<const TensorType> inputs);

// A node that is given u8 or s8 where the plugin declares codes: the combination for these types, one that gives codes before one that
// gives reals. Codes go out as the type that the first ones come in. Null where the types are those of reals, or of nothing.
const PluginCombination* codes_combination(const PluginOp& op, std::span<const TensorType> inputs);

// The first combination on this device that takes and gives these numbers, or null. Later ones: those that means_same() as it.
const PluginCombination* find_combination(const Declaration& declaration, const CodesForm& form,
                                          u32 device);

// s8 codes of value input or output i become u8 codes (plan/relabel.cc).
void plugin_reads_as_u8(Node& node, size_t input);
void plugin_writes_as_u8(Node& node, size_t output);
// OpTraits::verify of codes: the parameters of values are those of the node.
void verify_plugin_codes(const Graph& graph, const Node& node);

// A table for people: the types that a node offers, and of each combination that is declared types, parameters, layouts and device, with
// the cells that do not match in brackets.
std::string format_matrix(const Declaration& declaration, const std::vector<std::string>& offered,
                          const std::vector<std::vector<bool>>& matches);

}  // namespace octet
