// SPDX-License-Identifier: Apache-2.0
// Bodies of control flow as graphs of their own: each is planned for the sizes that it meets, like the graph around it, by a context of
// its own. Bodies without multiplications are left to the reference, which begins at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/body_runner.h"
#include "octet/engine.h"
#include "plan/prepared_store.h"

namespace octet {

// Who looks at values inside of bodies, in every round.
struct BodyWatch {
  std::unordered_map<const Graph*, std::vector<ValueId>> values;  // of each body that is watched
  // Of the body, `index` into its values.
  std::function<void(const Graph& body, size_t index, const Tensor& value)> seen;
};

class BodyRuns : public BodyRunner {
 public:
  // The engine's store and the context's threads and tuning; bodies run on the CPU.
  BodyRuns(ContextOptions options, std::shared_ptr<PreparedStore> store);
  ~BodyRuns();

  // Before the first run; it lives longer than this.
  void watch(const BodyWatch* watch) { watch_ = watch; }

  std::optional<std::vector<Tensor>> run(const Graph& body,
                                         std::span<const Tensor> inputs) override;

 private:
  struct Body;
  Body& body_of(const Graph& graph, std::span<const Tensor> inputs);

  ContextOptions options_;
  std::shared_ptr<PreparedStore> store_;
  const BodyWatch* watch_ = nullptr;
  std::unordered_map<const Graph*, std::unique_ptr<Body>> bodies_;
};

}  // namespace octet
