// SPDX-License-Identifier: Apache-2.0
#include "octet/metric_program.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "core/captured_child.h"
#include "core/check.h"
#include "data/named_arrays.h"
#include "octet/limits.h"
#include "octet/saved_outputs.h"

namespace octet {
namespace {

constexpr size_t kMostPrinted = 4000;
constexpr const char* kNames = "sample_names";

// A folder that nobody else can write to, gone with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "octet-metric-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail(Error::Code::io, "'{}': {}", name, strerror(errno));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path file() const { return path_ / "outputs.npz"; }

 private:
  std::filesystem::path path_;
};

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<f64> number_in(std::string_view text) {
  // Which std::from_chars() takes for none.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  f64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

ChildLimits limits_of(const MetricProgram& program) {
  return {.seconds = program.seconds,
          .memory = static_cast<s64>(limits().memory),
          .processes = 256,
          .file_bytes = s64{1} << 30,
          .open_files = 4096};
}

// What went wrong; empty: nothing.
std::string fault_of(const CapturedChild& child, const ChildLimits& limits) {
  const ChildOutcome& outcome = child.outcome;
  if (outcome.how != ChildEnd::left || outcome.code != 0) return to_string(outcome, limits);
  if (outcome.left_behind > 0)
    return fmt::format("ends while {} of its processes run on", outcome.left_behind);
  const std::string_view text = without_blanks(child.out);
  if (text.empty()) return "prints nothing on standard output; expected one number";
  const std::optional<f64> value = number_in(text);
  if (!value) return "prints something else than one number on standard output";
  if (!std::isfinite(*value)) return "prints a number that is not finite";
  return {};
}

[[noreturn]] void fail_with(const MetricProgram& program, const std::string& fault,
                            const CapturedChild& child) {
  Error error(Error::Code::invalid_argument,
              fmt::format("the metric's program '{}' {}", program.words.at(0), fault));
  for (const auto& [stream, text] :
       {std::pair("printed", &child.out), std::pair("said", &child.errors)}) {
    const std::string_view words = without_blanks(*text);
    if (!words.empty()) error.add_context(fmt::format("{}: {}", stream, words));
  }
  throw error;
}

}  // namespace

double run_metric_program(const MetricProgram& program, const std::vector<std::string>& outputs,
                          std::span<const std::string> sample_names,
                          std::span<const std::vector<Tensor>> samples) {
  if (program.words.empty() || program.words[0].empty())
    fail(Error::Code::invalid_argument, "the metric names no program");
  if (std::ranges::find(outputs, kNames) != outputs.end()) {
    fail(Error::Code::unsupported,
         "an output of the model is called '{}', as the names of samples are in the metric's file",
         kNames);
  }
  const ScratchFolder folder;
  OutputArrays arrays(outputs);
  for (const std::vector<Tensor>& sample : samples) arrays.add(sample);
  write_named_arrays(folder.file(), arrays.arrays(), kNames, sample_names);
  std::vector<std::string> words = program.words;
  words.push_back(folder.file().string());
  const ChildLimits limits = limits_of(program);
  const CapturedChild child = run_captured(words, limits, kMostPrinted, program.stop);
  if (child.outcome.how == ChildEnd::late && program.stop && program.stop())
    fail(Error::Code::cancelled, "the metric's program '{}' was stopped", program.words[0]);
  const std::string fault = fault_of(child, limits);
  if (!fault.empty()) fail_with(program, fault, child);
  return *number_in(without_blanks(child.out));
}

}  // namespace octet
