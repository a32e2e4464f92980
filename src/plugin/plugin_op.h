// SPDX-License-Identifier: Apache-2.0
// An operator of a plugin as two operators of the graph: "DOMAIN/NAME" of reals, which files name, and "DOMAIN/NAME.codes" of codes, which
// the passes make. What a node of codes means is in its attributes (plugin/codes.h).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "plugin/declaration.h"

namespace octet {

struct PluginOp;

// Where instances are shown their attributes, which are theirs while create() runs and no longer.
class ShownAttributes {
 public:
  virtual ~ShownAttributes() = default;
  virtual const octet_plugin_value* show(const std::vector<octet_plugin_value>& values) = 0;
  virtual void take_back() = 0;
};

struct PluginDef : OpDef {
  const PluginOp* plugin = nullptr;
};

// What create() made of a node's attributes and state; shared by all who run nodes with equal ones.
class PluginInstance {
 public:
  PluginInstance(const PluginOp& op, const Node& node);
  ~PluginInstance();
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  void* get() const { return instance_; }
  // Ends it before its time; throws Error naming the plugin where destroy() lets an exception out.
  void destroy();
  // What serialize() writes; throws Error naming the plugin.
  std::vector<std::byte> state() const;

 private:
  const PluginOp& op_;
  void* instance_ = nullptr;
};

// Lives as long as the process.
struct PluginOp {
  explicit PluginOp(Declaration declared);

  Declaration declaration;
  std::string real_name, codes_name;
  OpTraits real_traits, codes_traits;
  PluginDef real, codes;
  mutable ShownAttributes* shown = nullptr;  // null: as nodes have them
  // Held during a call of an operator that is not concurrent.
  mutable std::mutex running;

  std::shared_ptr<const PluginInstance> instance_of(const Node& node) const;

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<const PluginInstance> instance;
  };
  mutable std::mutex mutex_;  // of kept_
  mutable std::vector<Kept> kept_;
};

// Null for a node of another operator.
const PluginOp* plugin_of(const Node& node);
// Whether it computes on codes as its attributes say.
bool is_plugin_codes(const Node& node);

// Attribute of a node: the plugin's own state, as bytes.
inline constexpr const char* kPluginState = "octet.state";

}  // namespace octet
