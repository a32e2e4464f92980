// SPDX-License-Identifier: Apache-2.0
#include "core/spawned_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "core/check.h"

extern char** environ;

namespace octet {
namespace {

constexpr const char* kFamilyMark = "OCTET_CHILD";

// A text that no other process has in its environment.
std::string make_mark() {
  static std::atomic<u64> count = 0;
  std::random_device random;
  return fmt::format("{}={}.{}.{:08x}{:08x}", kFamilyMark, getpid(), count++, random(), random());
}

// All that the child needs, ready before it shares this memory.
struct Launch {
  std::vector<char*> words, variables;
  const ChildLimits* limits;
  pid_t caller;
  int streams[3];
  sigset_t signals;
  volatile int error = 0;
};

// Above the standard streams, which the child writes over.
class Duplicate {
 public:
  explicit Duplicate(int fd)
      : fd_(fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : fcntl(fd, F_DUPFD_CLOEXEC, 3)) {
    if (fd < 0 && fd_ >= 0 && fd_ < 3) {
      const int low = std::exchange(fd_, fcntl(fd_, F_DUPFD_CLOEXEC, 3));
      close(low);
    }
    if (fd_ < 0) fail(Error::Code::io, "no descriptor for another process: {}", strerror(errno));
  }
  ~Duplicate() { close(fd_); }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Between vfork() and exec(): in the memory of the caller, who waits. Only calls of the system.
[[noreturn]] void be_program(Launch& launch) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launch.caller) _exit(1);
  for (int i = 0; i < 3; ++i) dup2(launch.streams[i], i);
  close_from(3, Closing::by_exec);
  enforce_limits(*launch.limits);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigprocmask(SIG_SETMASK, &launch.signals, nullptr);
  execvpe(launch.words[0], launch.words.data(), launch.variables.data());
  launch.error = errno;
  _exit(127);
}

// No handler of this process may run in the child while it shares our memory. Returns -1 with errno where there is no process.
pid_t start(Launch& launch) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &launch.signals);
  const pid_t pid = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): see above
  if (pid == 0) be_program(launch);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &launch.signals, nullptr);
  errno = error;
  return pid;
}

// The environment of this process with the mark; programs that are started by marked ones keep the newest mark only.
std::vector<char*> variables_with(std::string& mark) {
  const std::string_view name = kFamilyMark;
  std::vector<char*> variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view text = *at;
    if (!text.starts_with(name) || text.substr(name.size(), 1) != "=") variables.push_back(*at);
  }
  variables.push_back(mark.data());
  variables.push_back(nullptr);
  return variables;
}

}  // namespace

SpawnedChild::SpawnedChild(const std::vector<std::string>& words, const ChildStreams& streams,
                           const ChildLimits& limits)
    : mark_(make_mark()), limits_(limits) {
  const Duplicate in(streams.in), out(streams.out), errors(streams.errors);
  Launch launch;
  // The program changes none of its arguments; the interface takes them without const.
  for (const std::string& word : words) launch.words.push_back(const_cast<char*>(word.c_str()));
  launch.words.push_back(nullptr);
  launch.variables = variables_with(mark_);
  launch.limits = &limits_;
  launch.caller = getpid();
  const int fds[] = {in.fd(), out.fd(), errors.fd()};
  std::ranges::copy(fds, launch.streams);
  pid_ = start(launch);
  if (pid_ < 0) fail(Error::Code::io, "'{}' cannot be started: {}", words.at(0), strerror(errno));
  if (launch.error != 0) {
    collect_child(pid_);
    fail(Error::Code::io, "'{}' cannot be started: {}", words.at(0), strerror(launch.error));
  }
  // To look into environments takes long: done at the end alone.
  watch_.emplace(pid_, Kin{.root = pid_, .session = pid_}, limits_);
}

SpawnedChild::~SpawnedChild() {
  if (pid_ > 0) end(ChildEnd::late);
}

ChildOutcome SpawnedChild::wait(const std::function<bool()>& stop) {
  return end(watch_->wait(-1, stop));
}

ChildOutcome SpawnedChild::end(ChildEnd how) {
  // While it is not collected, nobody else has its number.
  const int count = end_kin({.root = pid_, .session = pid_, .mark = mark_}, false);
  ChildOutcome outcome = collect_child(std::exchange(pid_, -1));
  if (how != ChildEnd::left)
    outcome.how = how;
  else
    outcome.left_behind = count;
  return outcome;
}

}  // namespace octet
