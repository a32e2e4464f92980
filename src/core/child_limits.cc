// SPDX-License-Identifier: Apache-2.0
#include "core/child_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace octet {
namespace {

constexpr unsigned kCloseByExec = 4;  // CLOSE_RANGE_CLOEXEC

void set_limit(int what, s64 most, s64 hard) {
  if (most <= 0) return;
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(what), &limit) != 0) return;
  const auto lower = [](rlim_t now, s64 wanted) {
    return std::min<rlim_t>(now, static_cast<rlim_t>(wanted));
  };
  limit = {lower(limit.rlim_cur, most), lower(limit.rlim_max, hard)};
  setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

}  // namespace

std::string to_string(const ChildOutcome& outcome, const ChildLimits& limits) {
  constexpr s64 kMiB = 1 << 20;
  switch (outcome.how) {
    case ChildEnd::left:
      return fmt::format("ends with {}", outcome.code);
    case ChildEnd::late:
      return fmt::format("does not end within {} s", limits.seconds);
    case ChildEnd::memory:
      return fmt::format("takes more than {} MiB of memory", limits.memory / kMiB);
    case ChildEnd::processes:
      return fmt::format("starts more than {} processes", limits.processes);
    case ChildEnd::lost:
      return "kills the process that watches over it";
    case ChildEnd::signal:
      break;
  }
  if (outcome.code == SIGXCPU && limits.processor_seconds > 0)
    return fmt::format("takes more than {} s of processor time", limits.processor_seconds);
  if (outcome.code == SIGXFSZ && limits.file_bytes > 0)
    return fmt::format("writes a file of more than {} MiB", limits.file_bytes / kMiB);
  return fmt::format("dies: {}", strsignal(outcome.code));
}

void enforce_limits(const ChildLimits& limits) {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  set_limit(RLIMIT_CPU, limits.processor_seconds, s64{limits.processor_seconds} + 1);
  set_limit(RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes);
  set_limit(RLIMIT_NOFILE, limits.open_files, limits.open_files);
}

void close_from(int first, Closing when) {
  const unsigned flags = when == Closing::by_exec ? kCloseByExec : 0;
  if (syscall(SYS_close_range, static_cast<unsigned>(first), UINT_MAX, flags) == 0) return;
  // Linux before 5.11.
  constexpr rlim_t kMost = 1 << 16;
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min(limit.rlim_cur, kMost));
  for (int fd = first; fd < end; ++fd) {
    if (when == Closing::now)
      close(fd);
    else
      fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

ChildWatch::ChildWatch(pid_t child, const Kin& kin, const ChildLimits& limits, s64 inherited)
    : child_(child),
      kin_(kin),
      limits_(limits),
      inherited_(inherited),
      pidfd_(static_cast<int>(syscall(SYS_pidfd_open, child, 0))),
      end_(Clock::now() + std::chrono::seconds(limits.seconds)),
      next_sample_(Clock::now()) {}

ChildWatch::~ChildWatch() {
  if (pidfd_ >= 0) close(pidfd_);
}

bool ChildWatch::has_ended() const {
  siginfo_t info = {};
  const int failed = waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT);
  return failed != 0 ? errno != EINTR : info.si_pid == child_;
}

std::optional<ChildEnd> ChildWatch::passed() {
  constexpr std::chrono::milliseconds kBetween{100};
  constexpr int kShare = 20;  // of the time that asking takes
  if ((limits_.memory == 0 && limits_.processes == 0) || Clock::now() < next_sample_)
    return std::nullopt;
  const Clock::time_point begin = Clock::now();
  s64 bytes = 0;
  int count = -1;  // itself
  for (const RunningProcess& process : kin_of(kin_)) {
    bytes += std::max<s64>(process.resident_bytes - inherited_, 0);
    ++count;
  }
  next_sample_ =
      Clock::now() + std::max<Clock::duration>(kBetween, (Clock::now() - begin) * kShare);
  if (limits_.memory > 0 && bytes > limits_.memory) return ChildEnd::memory;
  if (limits_.processes > 0 && count > limits_.processes) return ChildEnd::processes;
  return std::nullopt;
}

int ChildWatch::patience(bool asks) const {
  constexpr s64 kSample = 100, kWithoutDescriptor = 10;
  s64 most = asks || limits_.memory > 0 || limits_.processes > 0 ? kSample : INT_MAX;
  if (pidfd_ < 0) most = kWithoutDescriptor;
  if (limits_.seconds > 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
    most = std::min<s64>(most, left.count());
  }
  return static_cast<int>(std::clamp<s64>(most, 0, INT_MAX));
}

ChildEnd ChildWatch::wait(int life, const std::function<bool()>& stop) {
  for (;;) {
    if (has_ended()) return ChildEnd::left;
    if (const auto limit = passed()) return *limit;
    if (limits_.seconds > 0 && Clock::now() >= end_) return ChildEnd::late;
    if (stop && stop()) return ChildEnd::late;
    pollfd events[] = {{pidfd_, POLLIN, 0}, {life, POLLIN, 0}};
    if (poll(events, 2, patience(stop != nullptr)) > 0 && events[1].revents != 0)
      return ChildEnd::late;
  }
}

ChildOutcome collect_child(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    // Where the caller ignores SIGCHLD, the system keeps nothing of it.
    if (errno != EINTR) return {ChildEnd::left, -1, 0, {}};
  }
  if (WIFSIGNALED(status)) return {ChildEnd::signal, WTERMSIG(status), 0, {}};
  return {ChildEnd::left, WEXITSTATUS(status), 0, {}};
}

}  // namespace octet
