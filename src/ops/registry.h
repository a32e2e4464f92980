// SPDX-License-Identifier: Apache-2.0
// The operators that this process knows: the table that ops.def expands to, and those that were added since.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace octet {

// Look-ups may run while another thread adds. Nothing is ever removed: nodes point to their operators.
class OpRegistry {
 public:
  explicit constexpr OpRegistry(std::span<const OpDef* const> built_in) : built_in_(built_in) {}

  const OpDef* find(std::string_view name) const;  // by canonical name; null when unknown
  // By the name that ONNX files use; "ai.onnx" and "" are one domain. An operator of another domain may be called "DOMAIN/NAME",
  // so that its name need not be new.
  const OpDef* find_onnx(std::string_view domain, std::string_view name) const;
  std::vector<const OpDef*> all() const;

  // Adds an operator of its own domain, which must live as long as the registry does. Engines and model text name it by
  // `name` alone, so that must be new. Throws Error(invalid_argument).
  void add(const OpDef& op);
  // The same for an operator of the domain "octet", which no file may name: what passes make of one that was added.
  void add_for_passes(const OpDef& op);

 private:
  void add_new(const OpDef& op);
  const OpDef* find_built_in(std::string_view name) const;
  const OpDef* find_added(std::string_view name) const;

  std::span<const OpDef* const> built_in_;
  mutable std::once_flag sort_once_;
  mutable std::vector<const OpDef*>
      by_name_;               // of built_in_, made on first use: no code runs before main
  mutable std::mutex mutex_;  // of added_
  std::atomic<bool> has_added_ = false;  // spares every look-up the lock where nothing was added
  std::vector<const OpDef*> added_;
};

// The registry that importing, engine files and passes use.
OpRegistry& op_registry();

// Short for op_registry().find(): what a pass makes, and what text is parsed with (OpSource).
const OpDef* find_op(std::string_view name);

}  // namespace octet
