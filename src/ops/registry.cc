// SPDX-License-Identifier: Apache-2.0
#include "ops/registry.h"

#include <algorithm>
#include <string>

#include "core/check.h"

namespace octet {

#define OP(name) extern const OpDef k##name;
#include "ops/ops.def"
#undef OP

namespace {

constexpr auto kRefused = Error::Code::invalid_argument;

constexpr const OpDef* kOps[] = {
#define OP(name) &k##name,
#include "ops/ops.def"
#undef OP
};

}  // namespace

const OpDef* OpRegistry::find_built_in(std::string_view name) const {
  std::call_once(sort_once_, [&] {
    by_name_.assign(built_in_.begin(), built_in_.end());
    std::ranges::sort(by_name_, {}, &OpDef::name);
  });
  const auto at = std::ranges::lower_bound(by_name_, name, {}, &OpDef::name);
  return at != by_name_.end() && (*at)->name == name ? *at : nullptr;
}

const OpDef* OpRegistry::find_added(std::string_view name) const {
  if (!has_added_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(added_, name, &OpDef::name);
  return at == added_.end() ? nullptr : *at;
}

const OpDef* OpRegistry::find(std::string_view name) const {
  const OpDef* op = find_built_in(name);
  return op != nullptr ? op : find_added(name);
}

const OpDef* OpRegistry::find_onnx(std::string_view domain, std::string_view name) const {
  if (domain == "ai.onnx") domain = "";
  if (!domain.empty()) {
    const OpDef* of_domain = find(std::string(domain) + '/' + std::string(name));
    if (of_domain != nullptr && of_domain->domain == domain) return of_domain;
  }
  const OpDef* op = find(name);
  return op != nullptr && op->domain == domain ? op : nullptr;
}

std::vector<const OpDef*> OpRegistry::all() const {
  std::vector<const OpDef*> ops(built_in_.begin(), built_in_.end());
  const std::lock_guard lock(mutex_);
  ops.insert(ops.end(), added_.begin(), added_.end());
  return ops;
}

// "octet" is the domain of operators that only passes make; ONNX will add to its own.
void OpRegistry::add(const OpDef& op) {
  if (op.domain.empty() || op.domain == "ai.onnx" || op.domain == "octet")
    fail(kRefused, "operator '{}' needs a domain of its own, not '{}'", op.name, op.domain);
  add_new(op);
}

void OpRegistry::add_for_passes(const OpDef& op) {
  OCTET_CHECK(op.domain == "octet");
  add_new(op);
}

void OpRegistry::add_new(const OpDef& op) {
  if (op.name.empty() || op.infer == nullptr || op.eval == nullptr || op.traits == nullptr)
    fail(kRefused, "operator '{}' needs a name, a shape rule and an evaluation", op.name);
  const OpDef* known = find_built_in(op.name);
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(added_, op.name, &OpDef::name);
  if (known == nullptr && at != added_.end()) known = *at;
  if (known != nullptr)
    fail(kRefused, "operator '{}' exists already, in domain '{}'", op.name, known->domain);
  added_.push_back(&op);
  has_added_.store(true, std::memory_order_release);
}

OpRegistry& op_registry() {
  static constinit OpRegistry registry(kOps);
  return registry;
}

const OpDef* find_op(std::string_view name) { return op_registry().find(name); }

}  // namespace octet
