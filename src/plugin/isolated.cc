// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolated.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>

#include "core/check.h"
#include "plugin/guarded_memory.h"

namespace octet {
namespace {

constexpr char kPassed = '+', kFailed = '-';
constexpr size_t kStageBytes = 512;
constexpr size_t kMostText = 1 << 20;

// Of the child alone.
char stage[kStageBytes] = "";
int report_fd = -1;

void write_all(const char* text, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = write(report_fd, text, bytes);
    if (n <= 0) return;
    text += n;
    bytes -= static_cast<size_t>(n);
  }
}

void report(char status, const std::string& text) {
  write_all(&status, 1);
  write_all(text.data(), text.size());
}

// Memory that a plugin must not touch says whose neighbor it is. Only what is safe in a handler: fixed buffers and write().
void on_fault(int signal, siginfo_t* info, void*) {
  char text[kStageBytes + 256];
  const char* where = describe_fault(info->si_addr);
  const char status = kFailed;
  write_all(&status, 1);
  size_t length = 0;
  const char* parts[] = {stage, ": ", where != nullptr ? where : strsignal(signal)};
  for (const char* part : parts) {
    const size_t bytes = std::min(strlen(part), sizeof text - length);
    memcpy(text + length, part, bytes);
    length += bytes;
  }
  write_all(text, length);
  _exit(0);
}

[[noreturn]] void run_child(const std::function<std::string()>& body) {
  static char stack[64 << 10];
  const stack_t alternate = {stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  try {
    report(kPassed, body());
  } catch (const Error& error) {
    report(kFailed, error.message());
  } catch (const std::exception& error) {
    report(kFailed, error.what());
  } catch (...) {
    report(kFailed, "an exception that is no std::exception");
  }
  _exit(0);
}

// Everything until the child closes its end, or the time is over.
std::string read_until(int fd, int seconds, bool& late) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::string text;
  while (text.size() < kMostText) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd wait = {fd, POLLIN, 0};
    if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) == 0) {
      late = true;
      return text;
    }
    char buffer[4096];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

void note_stage(const std::string& text) {
  const size_t bytes = std::min(text.size(), kStageBytes - 1);
  memcpy(stage, text.data(), bytes);
  stage[bytes] = '\0';
}

Outcome in_child(const std::function<std::string()>& body, int seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(Error::Code::io, "no pipe: {}", strerror(errno));
  fflush(nullptr);  // the child must not write what waits here a second time
  const pid_t child = fork();
  if (child < 0) fail(Error::Code::io, "no process: {}", strerror(errno));
  if (child == 0) {
    close(ends[0]);
    report_fd = ends[1];
    run_child(body);
  }
  close(ends[1]);
  bool late = false;
  const std::string text = read_until(ends[0], seconds, late);
  close(ends[0]);
  if (late) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (late) return {false, fmt::format("does not return within {} s", seconds)};
  if (!text.empty() && (text[0] == kPassed || text[0] == kFailed))
    return {text[0] == kPassed, text.substr(1)};
  if (WIFSIGNALED(status))
    return {false, fmt::format("the process dies: {}", strsignal(WTERMSIG(status)))};
  return {false, fmt::format("it ends the process with {}", WEXITSTATUS(status))};
}

}  // namespace octet
