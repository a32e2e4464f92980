// SPDX-License-Identifier: Apache-2.0
#include "pipeline/run_each.h"

#include <algorithm>
#include <mutex>

#include "core/memory.h"
#include "core/monitor.h"
#include "core/side_by_side.h"
#include "octet/engine.h"
#include "pipeline/sample_run.h"
#include "plan/prepared_store.h"
#include "runtime/inside.h"

namespace octet {

std::vector<std::vector<Tensor>> run_each(const std::shared_ptr<const Model>& model,
                                          std::span<const std::vector<Tensor>> runs,
                                          const StageOptions& stage) {
  const auto store = std::make_shared<PreparedStore>();
  std::vector<std::vector<Tensor>> results(runs.size());
  if (runs.empty()) return results;
  std::vector<Context> idle;
  const s64 before = counted_bytes();
  idle.push_back(Inside::context(model, {}, store));
  results[0] = idle[0].run(runs[0]);
  const s64 more = more_that_fit(counted_bytes() - before);
  std::mutex mutex;
  const auto work = [&](size_t i) {
    check_stop(stage.monitor);
    std::unique_lock lock(mutex);
    if (idle.empty()) idle.push_back(Inside::context(model, {}, store));
    Context context = std::move(idle.back());
    idle.pop_back();
    lock.unlock();
    results[i + 1] = context.run(runs[i + 1]);
    lock.lock();
    idle.push_back(std::move(context));
  };
  side_by_side(runs.size() - 1, static_cast<int>(std::min<s64>(stage.threads, 1 + more)), work);
  return results;
}

}  // namespace octet
