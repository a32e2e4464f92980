// SPDX-License-Identifier: Apache-2.0
#include "core/forked_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/check.h"
#include "core/confinement.h"

namespace octet {
namespace {

constexpr size_t kMostLastWords = 4000;
// Where the keeper finds its descriptors.
constexpr int kLife = 3, kVerdict = 4, kFirstOther = 5;

// What the keeper says: the child has no descriptor by which it could.
struct Verdict {
  ChildEnd how;
  int code, left_behind;
};

// Above what the keeper renumbers, also where the standard streams are closed.
class Pipe {
 public:
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail_now();
    for (int i = 0; i < 2; ++i) {
      ends_[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, kFirstOther);
      close(ends[i]);
    }
    if (ends_[0] < 0 || ends_[1] < 0) fail_now();
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_reading() { close_end(0); }
  void close_writing() { close_end(1); }

 private:
  void close_end(int i) {
    if (ends_[i] >= 0) close(std::exchange(ends_[i], -1));
  }
  [[noreturn]] static void fail_now() {
    fail(Error::Code::io, "no pipe to another process: {}", strerror(errno));
  }
  int ends_[2] = {-1, -1};
};

// While a child runs, no other process of the same user may open this one's memory.
class Closed {
 public:
  Closed() {
    const std::lock_guard lock(mutex);
    if (count++ == 0) before = prctl(PR_GET_DUMPABLE);
    prctl(PR_SET_DUMPABLE, 0);
  }
  ~Closed() {
    const std::lock_guard lock(mutex);
    if (--count == 0 && before == 1) prctl(PR_SET_DUMPABLE, 1);
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  static inline std::mutex mutex;
  static inline int count = 0, before = 0;
};

void default_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Nothing ends the keeper but SIGKILL.
void ignore_signals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGCHLD) ::signal(signal, SIG_IGN);
  }
  ::signal(SIGCHLD, SIG_DFL);  // who ignores it has no children to collect
}

struct Guarded {
  pid_t caller, caller_group, keeper;
};

[[noreturn]] void be_child(const std::function<void()>& body, const ChildLimits& limits,
                           const Guarded& guarded) {
  setpgid(0, 0);
  default_signals();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guarded.keeper) _exit(1);
  prctl(PR_SET_DUMPABLE, 1);
  close_from(3, Closing::now);
  enforce_limits(limits);
  const pid_t pids[] = {guarded.caller, guarded.keeper};
  confine(pids, guarded.caller_group);
  body();
  fflush(nullptr);
  _exit(0);
}

void keep_descriptors(int life, int verdict, int words) {
  dup2(life, kLife);
  dup2(verdict, kVerdict);
  dup2(words, STDOUT_FILENO);
  dup2(words, STDERR_FILENO);
  const int null = open("/dev/null", O_RDONLY);
  if (null != STDIN_FILENO) dup2(null, STDIN_FILENO);
  close_from(kFirstOther, Closing::now);
}

[[noreturn]] void be_keeper(const std::function<void()>& body, const ChildLimits& limits,
                            Guarded guarded) {
  guarded.keeper = getpid();
  setsid();
  ignore_signals();
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = fork();
  if (child == 0) be_child(body, limits, guarded);
  Verdict verdict = {ChildEnd::lost, 0, 0};
  if (child > 0) {
    const Kin kin{.root = guarded.keeper};
    verdict.how = ChildWatch(child, kin, limits, own_resident_bytes()).wait(kLife);
    if (verdict.how == ChildEnd::left) {
      const ChildOutcome ended = collect_child(child);
      verdict = {ended.how, ended.code, 0};
      verdict.left_behind = end_kin(kin, true);
    } else {
      end_kin(kin, true);
    }
  }
  const ssize_t written = write(kVerdict, &verdict, sizeof verdict);
  _exit(written == sizeof verdict ? 0 : 1);
}

// The last of what it prints: false where there is no more.
bool take_words(int fd, std::string& words) {
  char buffer[4096];
  const ssize_t n = read(fd, buffer, sizeof buffer);
  if (n <= 0) return n < 0 && errno == EINTR;
  words.append(buffer, static_cast<size_t>(n));
  if (words.size() > kMostLastWords) words.erase(0, words.size() - kMostLastWords);
  return true;
}

// Until the keeper has spoken or is gone. One that was stopped is not waited for longer than its own time.
bool await_verdict(int verdict_end, int words_end, const ChildLimits& limits, Verdict& verdict,
                   std::string& words) {
  constexpr int kGrace = 60;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(limits.seconds + kGrace);
  pollfd events[] = {{verdict_end, POLLIN, 0}, {words_end, POLLIN, 0}};
  for (;;) {
    const int ready = poll(events, 2, 1000);
    if (ready > 0 && events[1].revents != 0 && !take_words(words_end, words)) events[1].fd = -1;
    if (ready > 0 && events[0].revents != 0)
      return read(verdict_end, &verdict, sizeof verdict) == sizeof verdict;
    if (limits.seconds > 0 && std::chrono::steady_clock::now() > end) return false;
  }
}

void drain(int words_end, std::string& words) {
  fcntl(words_end, F_SETFL, O_NONBLOCK);
  constexpr int kMostPieces = 32;  // more than a pipe holds
  for (int piece = 0; piece < kMostPieces && take_words(words_end, words); ++piece) {
  }
}

}  // namespace

ChildOutcome run_forked(const std::function<void()>& body, const ChildLimits& limits) {
  Pipe life, verdicts, said;
  const Closed closed;
  const Guarded guarded = {getpid(), getpgrp(), 0};
  fflush(nullptr);  // the child must not write what waits here a second time
  const pid_t keeper = fork();
  if (keeper < 0) fail(Error::Code::io, "no process: {}", strerror(errno));
  if (keeper == 0) {
    keep_descriptors(life.reading(), verdicts.writing(), said.writing());
    be_keeper(body, limits, guarded);
  }
  life.close_reading();
  verdicts.close_writing();
  said.close_writing();
  ChildOutcome outcome;
  Verdict verdict = {ChildEnd::lost, 0, 0};
  const bool spoke =
      await_verdict(verdicts.reading(), said.reading(), limits, verdict, outcome.words);
  if (!spoke) {
    verdict = {ChildEnd::lost, 0, 0};
    kill(keeper, SIGKILL);
    end_kin({.root = keeper, .session = keeper}, false);
  }
  drain(said.reading(), outcome.words);
  collect_child(keeper);
  outcome.how = verdict.how;
  outcome.code = verdict.code;
  outcome.left_behind = verdict.left_behind;
  return outcome;
}

}  // namespace octet
