// SPDX-License-Identifier: Apache-2.0
#include "core/monitor.h"

#include "core/check.h"

namespace octet {
namespace {

[[noreturn]] void fail_cancelled() { fail(Error::Code::cancelled, "cancelled by the caller"); }

}  // namespace

void report_progress(const Monitor& monitor, std::string_view stage, s64 done, s64 total) {
  check_stop(monitor);
  if (monitor.report && !monitor.report({std::string(stage), done, total})) fail_cancelled();
}

void check_stop(const Monitor& monitor) {
  if (monitor.stop.stop_requested()) fail_cancelled();
}

}  // namespace octet
