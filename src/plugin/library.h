// SPDX-License-Identifier: Apache-2.0
// The plugins of this process, and which of them a graph uses: what an engine remembers and asks for again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octet/plugins.h"
#include "plugin/plugin_op.h"

namespace octet {

struct PluginUse {
  std::string plugin, version;  // of the library
  std::string op;               // "DOMAIN/NAME"
  u32 op_version = 0;
  std::string declaration;  // Declaration::hash
  bool operator==(const PluginUse&) const = default;
};

// Each operator of a plugin in the graph and its bodies once, by name.
std::vector<PluginUse> used_plugins(const Graph& graph);
// Throws one Error(unsupported) that lists every operator that is missing here or other than it was.
void check_plugins(std::span<const PluginUse> uses);

// For those who check a library without adding it. `handle` is kept open.
const octet_plugin& open_plugin(const std::filesystem::path& library);
std::vector<Declaration> read_plugin(const octet_plugin& plugin);

}  // namespace octet
