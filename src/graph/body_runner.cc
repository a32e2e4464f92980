// SPDX-License-Identifier: Apache-2.0
#include "graph/body_runner.h"

namespace octet {
namespace {

thread_local BodyRunner* innermost = nullptr;

}  // namespace

BodyRunner* BodyRunner::current() { return innermost; }

BodyRunner::Scope::Scope(BodyRunner& runner) : outer_(innermost) { innermost = &runner; }
BodyRunner::Scope::~Scope() { innermost = outer_; }

}  // namespace octet
