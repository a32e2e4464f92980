// SPDX-License-Identifier: Apache-2.0
// What the installed headers keep to themselves: how Octet's own code makes engines and contexts, and looks into them.
#pragma once

#include <memory>

#include "octet/engine.h"
#include "plan/prepared_store.h"
#include "runtime/model.h"

namespace octet {

struct Engine::Impl {
  std::shared_ptr<const Model> model;
  std::shared_ptr<PreparedStore> store;  // packed weights, shared by all contexts
};

struct Inside {
  static Engine engine(std::shared_ptr<const Model> model);
  // Contexts that are given the same store share what their kernels made of the model's weights; null: a store of its own.
  static Context context(std::shared_ptr<const Model> model, const ContextOptions& options = {},
                         std::shared_ptr<PreparedStore> store = nullptr);
  static const Model& model(const Engine& engine) { return *engine.impl_->model; }
  static const std::shared_ptr<PreparedStore>& store(const Engine& engine) {
    return engine.impl_->store;
  }
  static Context::Impl& impl(Context& context) { return *context.impl_; }
  static const Context::Impl& impl(const Context& context) { return *context.impl_; }
};

}  // namespace octet
