// SPDX-License-Identifier: Apache-2.0
// What the installed headers keep to themselves: how Octet's own code makes engines and contexts, and looks into them.
#pragma once

#include <memory>

#include "octet/engine.h"
#include "runtime/model.h"

namespace octet {

struct Engine::Impl {
  std::shared_ptr<const Model> model;
};

struct Inside {
  static Engine engine(std::shared_ptr<const Model> model);
  static Context context(std::shared_ptr<const Model> model, const ContextOptions& options = {});
  static const Model& model(const Engine& engine) { return *engine.impl_->model; }
  static Context::Impl& impl(Context& context) { return *context.impl_; }
};

}  // namespace octet
