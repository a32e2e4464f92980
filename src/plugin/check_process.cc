// SPDX-License-Identifier: Apache-2.0
#include "plugin/check_process.h"

#include <signal.h>

#include <clocale>
#include <filesystem>

#include "arch/float_mode.h"
#include "core/check.h"
#include "plugin/check_trials.h"

namespace octet {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

std::string locale_name() {
  const char* name = std::setlocale(LC_ALL, nullptr);
  return name == nullptr ? "" : name;
}

void* handler_of(int signal) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  return reinterpret_cast<void*>(action.sa_sigaction);
}

}  // namespace

ProcessState::ProcessState()
    : floats_(float_mode()), locale_(locale_name()), folder_(std::filesystem::current_path()) {
  for (size_t i = 0; i < std::size(kCrashes); ++i) handlers_[i] = handler_of(kCrashes[i]);
}

void ProcessState::hold(const std::string& who) const {
  if (float_mode() != floats_)
    fail(kWrong,
         "{} changes how the process computes with floats ({} {:#x}, before {:#x}); code that "
         "is linked with -ffast-math does so",
         who, kFloatModeRegister, float_mode(), floats_);
  if (locale_name() != locale_)
    fail(kWrong, "{} changes the locale of the process from '{}' to '{}'", who, locale_,
         locale_name());
  const std::string folder = std::filesystem::current_path();
  if (folder != folder_)
    fail(kWrong, "{} changes the working folder of the process to '{}'", who, folder);
  for (size_t i = 0; i < std::size(kCrashes); ++i) {
    if (handler_of(kCrashes[i]) != handlers_[i])
      fail(kWrong, "{} takes signal {} of the process", who, kCrashes[i]);
  }
}

std::string check_process(const CheckContext& context) {
  const size_t count = for_each_trial(
      context, "beside the rest of the process",
      [&](const Trial& trial) {
        const ProcessState before;
        run_plain(trial, step_of(trial));
        before.hold(trial.text() + ": a run");
      },
      Reals::unknown, kSomeCases);
  return fmt::format("{} cases", count);
}

}  // namespace octet
