// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolated.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <string_view>

#include "core/check.h"
#include "core/forked_child.h"
#include "plugin/guarded_memory.h"

namespace octet {
namespace {

constexpr size_t kStageBytes = 512;

enum class State : u32 { none, passed, failed };

// What the child says, in memory of both.
struct Report {
  std::atomic<State> state;
  std::atomic<u64> length;
  char text[1];  // and as many as were asked for
};

class SharedReport {
 public:
  explicit SharedReport(size_t most_text) : most_(most_text) {
    void* map = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
      fail(Error::Code::out_of_memory, "no {} bytes for what a child process says", most_);
    report_ = static_cast<Report*>(map);
  }
  ~SharedReport() { munmap(report_, bytes()); }
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;

  // Safe in a handler. The first word counts.
  void say(State state, std::string_view text) {
    if (report_->state != State::none) return;
    const size_t length = std::min(text.size(), most_);
    memcpy(report_->text, text.data(), length);
    report_->length = length;
    report_->state = state;
  }
  State state() const { return report_->state; }
  std::string text() const { return {report_->text, std::min<size_t>(report_->length, most_)}; }

 private:
  size_t bytes() const { return sizeof(Report) + most_; }
  const size_t most_;
  Report* report_;
};

// Of the child alone.
char stage[kStageBytes] = "";
SharedReport* report = nullptr;

// Memory that a plugin must not touch says whose neighbor it is. Only what is safe in a handler: fixed buffers and write().
void on_fault(int signal, siginfo_t* info, void*) {
  char text[kStageBytes + 256];
  const char* where = describe_fault(info->si_addr);
  size_t length = 0;
  const char* parts[] = {stage, ": ", where != nullptr ? where : strsignal(signal)};
  for (const char* part : parts) {
    const size_t bytes = std::min(strlen(part), sizeof text - length);
    memcpy(text + length, part, bytes);
    length += bytes;
  }
  report->say(State::failed, {text, length});
  _exit(0);
}

void take_crashes() {
  static char stack[64 << 10];
  const stack_t alternate = {stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void run_body(const std::function<std::string()>& body) {
  take_crashes();
  try {
    const std::string text = body();
    report->say(State::passed, text);
  } catch (const Error& error) {
    report->say(State::failed, error.message());
  } catch (const std::exception& error) {
    report->say(State::failed, error.what());
  } catch (...) {
    report->say(State::failed, "an exception that is no std::exception");
  }
}

// How it ended, where it did not say anything itself.
std::string end_of(const ChildOutcome& outcome, const ChildLimits& limits) {
  switch (outcome.how) {
    case ChildEnd::left:
      return fmt::format("it ends the process with {}", outcome.code);
    case ChildEnd::signal:
      return "the process " + to_string(outcome, limits);
    case ChildEnd::late:
      return fmt::format("does not return within {} s", limits.seconds);
    default:
      return "it " + to_string(outcome, limits);
  }
}

}  // namespace

void note_stage(const std::string& text) {
  const size_t bytes = std::min(text.size(), kStageBytes - 1);
  memcpy(stage, text.data(), bytes);
  stage[bytes] = '\0';
}

Outcome in_child(const std::function<std::string()>& body, const Isolation& isolation) {
  SharedReport shared(isolation.most_text);
  const auto run = [&] {
    report = &shared;
    run_body(body);
    // Not main's end: what the library registered for that is not run, as in a program that is killed.
    _exit(0);
  };
  const ChildOutcome outcome = run_forked(run, isolation.limits);
  const bool by_itself = outcome.how == ChildEnd::left || outcome.how == ChildEnd::signal;
  // What it said before it was killed or died is not its last word, unless it was that something is wrong.
  if (shared.state() == State::failed && by_itself) return {false, true, shared.text()};
  const bool done = outcome.how == ChildEnd::left && outcome.code == 0;
  if (!done || shared.state() != State::passed)
    return {false, by_itself, end_of(outcome, isolation.limits)};
  if (outcome.left_behind > 0)
    return {
        false, true,
        fmt::format("it leaves {} of its processes behind (they were ended)", outcome.left_behind)};
  return {true, true, shared.text()};
}

}  // namespace octet
