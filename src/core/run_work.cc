// SPDX-License-Identifier: Apache-2.0
#include "core/run_work.h"

#include <algorithm>
#include <atomic>

#include "core/check.h"
#include "octet/work_limit.h"

namespace octet {
namespace {

std::atomic<f64> limit{kDefaultWorkLimit};

struct WorkCount {
  int open = 0;  // RunWork inside of each other
  f64 steps = 0;
  f64 most = 0;  // of the outermost
};

WorkCount& work_of_thread() {
  thread_local WorkCount count;
  return count;
}

f64 limit_of_thread() {
  const WorkCount& count = work_of_thread();
  return count.open > 0 ? std::min(limit.load(), count.most) : limit.load();
}

}  // namespace

RunWork::RunWork(f64 most) {
  WorkCount& count = work_of_thread();
  if (count.open++ > 0) return;
  count.steps = 0;
  count.most = most;
}

RunWork::~RunWork() { --work_of_thread().open; }

bool RunWork::is_counting() { return work_of_thread().open > 0; }

bool RunWork::try_take(f64 steps) {
  WorkCount& count = work_of_thread();
  if (count.steps + steps > limit_of_thread()) return false;
  count.steps += steps;
  return true;
}

f64 RunWork::taken() { return work_of_thread().steps; }

void RunWork::refuse(f64 steps, const std::string& what) {
  fail_about(
      "work_limit", Error::Code::unsupported,
      "{} has no kernel and takes about {:.2g} steps in the scalar reference; with them a run "
      "passes its limit of {:.2g}",
      what, steps, limit_of_thread());
}

void RunWork::take(f64 steps, const std::string& what) {
  if (!try_take(steps)) refuse(steps, what);
}

void RunWork::check(f64 steps, const std::string& what) {
  if (steps > limit_of_thread()) refuse(steps, what);
}

void RunWork::check_constant(f64 steps, const std::string& what) {
  constexpr f64 kShare = 1.0 / 200;
  const f64 most = limit_of_thread() * kShare;
  if (steps <= most) return;
  fail_about("work_limit", Error::Code::unsupported,
             "{} and what else depends on constants alone takes about {:.2g} steps in every run, "
             "too many to be folded; such may take {:.2g}, of the {:.2g} of a run",
             what, steps, most, limit_of_thread());
}

void set_work_limit(double steps) { limit = steps > 0 ? steps : kDefaultWorkLimit; }
double work_limit() { return limit; }

}  // namespace octet
