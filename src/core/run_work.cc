// SPDX-License-Identifier: Apache-2.0
#include "core/run_work.h"

#include <atomic>

#include "core/check.h"
#include "octet/work_limit.h"

namespace octet {
namespace {

std::atomic<f64> limit{kDefaultWorkLimit};

struct Count {
  int open = 0;  // RunWork inside of each other
  f64 steps = 0;
};

Count& count_of_thread() {
  thread_local Count count;
  return count;
}

}  // namespace

RunWork::RunWork() {
  Count& count = count_of_thread();
  if (count.open++ == 0) count.steps = 0;
}

RunWork::~RunWork() { --count_of_thread().open; }

bool RunWork::is_counting() { return count_of_thread().open > 0; }

bool RunWork::try_take(f64 steps) {
  Count& count = count_of_thread();
  if (count.steps + steps > limit.load()) return false;
  count.steps += steps;
  return true;
}

void RunWork::refuse(f64 steps, const std::string& what) {
  fail_about(
      "work_limit", Error::Code::unsupported,
      "{} has no kernel and takes about {:.2g} steps in the scalar reference; with them a run "
      "passes its limit of {:.2g}",
      what, steps, limit.load());
}

void RunWork::take(f64 steps, const std::string& what) {
  if (!try_take(steps)) refuse(steps, what);
}

void RunWork::check(f64 steps, const std::string& what) {
  if (steps > limit.load()) refuse(steps, what);
}

void set_work_limit(double steps) { limit = steps > 0 ? steps : kDefaultWorkLimit; }
double work_limit() { return limit; }

}  // namespace octet
