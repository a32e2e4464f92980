// SPDX-License-Identifier: Apache-2.0
#include "core/running_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

namespace octet {
namespace {

std::string read_small(pid_t pid, const char* name, size_t most) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", static_cast<int>(pid), name);
  std::string text;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  for (ssize_t n = 0; text.size() < most && (n = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  close(fd);
  return text;
}

// False where it is gone, and where it has ended and waits to be collected, which has its fields still. A name may hold anything, so the fields begin behind its last bracket.
bool read_process(pid_t pid, RunningProcess& process) {
  constexpr size_t kMost = 4096;
  const std::string text = read_small(pid, "stat", kMost);
  const size_t name_end = text.rfind(')');
  if (name_end == text.npos) return false;
  char state = 0;
  int parent = 0, session = 0;
  unsigned long long started = 0;
  long pages = 0;
  const int read = std::sscanf(text.c_str() + name_end + 1,
                               " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                               "%*d %*d %llu %*u %ld",
                               &state, &parent, &session, &started, &pages);
  if (read != 5) return false;
  process = {pid, parent, session, started, s64{pages} * sysconf(_SC_PAGESIZE)};
  return state != 'Z' && state != 'X';
}

// Only what was started after the child can have its environment.
bool has_mark(const RunningProcess& process, std::string_view mark, u64 since) {
  constexpr size_t kMost = 1 << 20;
  return !mark.empty() && process.started >= since &&
         read_small(process.pid, "environ", kMost).find(mark) != std::string::npos;
}

// Also of one that has ended and is not collected.
u64 start_of(pid_t pid) {
  RunningProcess process;
  read_process(pid, process);
  return process.started;
}

void pause_shortly() {
  const timespec shortly = {0, 2'000'000};
  nanosleep(&shortly, nullptr);
}

}  // namespace

std::vector<RunningProcess> running_processes() {
  std::vector<RunningProcess> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (folder == nullptr) return all;
  while (const dirent* entry = readdir(folder.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    RunningProcess process;
    if (pid > 0 && read_process(pid, process)) all.push_back(process);
  }
  return all;
}

s64 own_resident_bytes() {
  RunningProcess own;
  return read_process(getpid(), own) ? own.resident_bytes : 0;
}

std::vector<RunningProcess> kin_of(const Kin& kin) {
  const std::vector<RunningProcess> all = running_processes();
  const u64 since = start_of(kin.root);
  std::set<pid_t> known = {kin.root};
  std::vector<RunningProcess> found;
  for (const RunningProcess& p : all) {
    const bool named = p.pid == kin.root || (kin.session > 0 && p.session == kin.session);
    if (p.pid == getpid() || !(named || has_mark(p, kin.mark, since))) continue;
    known.insert(p.pid);
    found.push_back(p);
  }
  for (size_t before = 0; before != known.size();) {
    before = known.size();
    for (const RunningProcess& p : all) {
      if (known.contains(p.parent) && p.pid != getpid() && known.insert(p.pid).second)
        found.push_back(p);
    }
  }
  return found;
}

int end_kin(const Kin& kin, bool collects) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int count = 0;
  for (int round = 0; round == 0 || std::chrono::steady_clock::now() < end; ++round) {
    const std::vector<RunningProcess> living = kin_of(kin);
    if (round == 0) count = static_cast<int>(living.size());
    for (const RunningProcess& process : living) kill(process.pid, SIGKILL);
    pid_t collected = 0;
    do {
      collected = collects ? waitpid(-1, nullptr, WNOHANG) : 0;
    } while (collected > 0 || (collected < 0 && errno == EINTR));
    if (living.empty() && (!collects || collected < 0)) break;
    pause_shortly();
  }
  return count;
}

}  // namespace octet
