// SPDX-License-Identifier: Apache-2.0
// Runs the ONNX project's node tests and holds the result against expected.txt: on the scalar references, or compiled,
// planned and run on the CPU, or so on devices for tests (backends/test) or a GPU, which pass what the CPU passes.
//   conformance_tests [FILTER] [--backend reference|cpu|test|cuda] [--verbose] [--update] [--json] [--expected FILE]
//                     [--core FILE] [--atol X] [--slice I/N]
// --update rewrites the lists of both backends.
// --json prints one object with the counts and nothing else; a test counts as passed when it passes on the backend, without one on both
// reference and cpu, and the core tests are those that FILE lists.
// --slice runs every Nth test, from test I on: N processes share the work.
// FILTER is a part of test names ("conv", "test_add_bcast"); failing tests are then printed with their messages.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <span>

#include "compare.h"
#include "suite.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr int kSkipped = 77;

struct Options {
  std::string filter;
  Runner runner = Runner::interpreter;
  bool both = true;  // no backend was named: --json counts what passes on two
  fs::path expected;
  fs::path known = OCTET_SOURCE_DIR "/tests/conformance/known_failures.txt";
  fs::path core = OCTET_SOURCE_DIR "/../shared/conformance/core-tests.txt";
  double atol = kAbsoluteTolerance;
  size_t slice = 0, slices = 1;
  bool verbose = false;
  bool update = false;
  bool json = false;
};

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--backend" && i + 1 < argc) {
      const std::string name = argv[++i];
      options.runner = name == "cpu"    ? Runner::cpu
                       : name == "test" ? Runner::test
                       : name == "cuda" ? Runner::cuda
                                        : Runner::interpreter;
      options.both = false;
    } else if (argument == "--verbose") {
      options.verbose = true;
    } else if (argument == "--update") {
      options.update = true;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--core" && i + 1 < argc) {
      options.core = argv[++i];
    } else if (argument == "--expected" && i + 1 < argc) {
      options.expected = argv[++i];
    } else if (argument == "--atol" && i + 1 < argc) {
      options.atol = std::stod(argv[++i]);
    } else if (argument == "--slice" && i + 1 < argc) {
      const std::string slice = argv[++i];
      options.slice = std::stoul(slice);
      options.slices = std::max<size_t>(1, std::stoul(slice.substr(slice.find('/') + 1)));
    } else {
      options.filter = argument;
      options.verbose = true;
    }
  }
  return options;
}

fs::path expected_of(const Options& options) {
  if (!options.expected.empty()) return options.expected;
  const fs::path folder = OCTET_SOURCE_DIR "/tests/conformance";
  return folder / (options.runner == Runner::interpreter ? "expected.txt" : "expected_cpu.txt");
}

char current_test[256];

// A crash says in which test it happened.
void on_signal(int signal) {
  const auto say = [](const char* text) { (void)!::write(2, text, std::strlen(text)); };
  say("\ncrashed in ");
  say(current_test);
  say("\n");
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// A test passes on both when it does on each.
TestResult run_on_both(const fs::path& test, double atol) {
  TestResult result = run_test(test, Runner::interpreter, atol);
  return result.outcome == Outcome::pass ? run_test(test, Runner::cpu, atol) : result;
}

std::vector<TestResult> run_all(const fs::path& folder, const Options& options) {
  std::vector<fs::path> tests;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.find(options.filter) != name.npos)
      tests.push_back(entry.path());
  }
  std::sort(tests.begin(), tests.end());
  std::vector<TestResult> results;
  for (size_t i = options.slice; i < tests.size(); i += options.slices) {
    const fs::path& test = tests[i];
    std::snprintf(current_test, sizeof current_test, "%s", test.filename().c_str());
    results.push_back(options.json && options.both ? run_on_both(test, options.atol)
                                                   : run_test(test, options.runner, options.atol));
  }
  return results;
}

std::set<std::string> read_names(const fs::path& file) {
  std::set<std::string> names;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    // "name" or "name: reason".
    if (!line.empty() && line[0] != '#') names.insert(line.substr(0, line.find(':')));
  }
  return names;
}

void write_names(const fs::path& file, const std::set<std::string>& names) {
  std::ofstream out(file);
  out << "# ONNX node tests that pass; conformance_tests --update writes this file.\n";
  for (const std::string& name : names) out << name << '\n';
}

struct Count {
  int pass = 0, fail = 0, skip = 0;
  void add(Outcome outcome) {
    ++(outcome == Outcome::pass ? pass : outcome == Outcome::fail ? fail : skip);
  }
};

Count print_counts(const std::vector<TestResult>& results) {
  Count total;
  std::map<std::string, Count> by_op;
  std::map<std::string, int> missing;
  for (const TestResult& result : results) {
    total.add(result.outcome);
    for (const std::string& op : result.ops) {
      if (result.outcome != Outcome::skip) by_op[op].add(result.outcome);
    }
    const std::set<std::string> ops(result.missing_ops.begin(), result.missing_ops.end());
    for (const std::string& op : ops) ++missing[op];
  }
  for (const auto& [op, count] : by_op) {
    fmt::print("{:32} {}/{}\n", op, count.pass, count.pass + count.fail);
  }
  fmt::print("operators missing (tests that need them):");
  for (const auto& [op, count] : missing) fmt::print(" {}({})", op, count);
  fmt::print("\n");
  return total;
}

void print_list(std::string_view title, const std::vector<std::string>& names) {
  constexpr size_t kShown = 60;
  if (names.empty()) return;
  const std::span shown(names.data(), std::min(names.size(), kShown));
  fmt::print("{} ({}): {}{}\n", title, names.size(), fmt::join(shown, " "),
             shown.size() < names.size() ? " ..." : "");
}

int judge(const Options& options, const std::vector<TestResult>& results, bool complete) {
  std::set<std::string> expected = read_names(expected_of(options));
  const std::set<std::string> known = read_names(options.known);
  std::vector<std::string> failing, unexplained, losses, gains;
  for (const TestResult& result : results) {
    const bool listed = expected.contains(result.name);
    if (result.outcome == Outcome::fail) {
      (known.contains(result.name) ? failing : unexplained).push_back(result.name);
    }
    // An older edition may hold data that newer ones corrected.
    const bool excused = !complete && known.contains(result.name);
    if (result.outcome != Outcome::pass && listed && !excused) losses.push_back(result.name);
    if (result.outcome == Outcome::pass && !listed) gains.push_back(result.name);
    if (options.update) {
      if (result.outcome == Outcome::pass)
        expected.insert(result.name);
      else
        expected.erase(result.name);
    }
    if (options.verbose && result.outcome != Outcome::pass) {
      fmt::print("{} {}: {}\n", result.outcome == Outcome::fail ? "FAIL" : "skip", result.name,
                 result.message);
    }
  }
  print_list("failing for the reason in known_failures.txt", failing);
  print_list("FAILING", unexplained);
  if (options.update) {
    write_names(expected_of(options), expected);
    fmt::print("{} lists {} tests\n", expected_of(options).string(), expected.size());
    return 0;
  }
  print_list("LOST: listed in expected.txt but not passing", losses);
  const bool gained = complete && options.filter.empty() && !gains.empty();
  if (gained) print_list("GAINED: passing but not listed; run conformance_tests --update", gains);
  return losses.empty() && unexplained.empty() && !gained ? 0 : 1;
}

// Core tests that an older edition of the data lacks do not count.
int print_json(const Options& options, const std::vector<TestResult>& results) {
  const std::set<std::string> core = read_names(options.core);
  Count all, of_core;
  for (const TestResult& result : results) {
    all.add(result.outcome);
    if (!core.contains(result.name)) continue;
    of_core.add(result.outcome);
    if (result.outcome != Outcome::pass)
      fmt::print(stderr, "{}: {}\n", result.name, result.message);
  }
  fmt::print("{{\"core_passed\": {}, \"core_total\": {}, \"passed\": {}, \"total\": {}}}\n",
             of_core.pass, of_core.pass + of_core.fail + of_core.skip, all.pass, results.size());
  return of_core.fail + of_core.skip == 0 ? 0 : 1;
}

int run_once(const Options& options, const TestData& data) {
  const std::vector<TestResult> results = run_all(data.folder, options);
  const Count total = print_counts(results);
  const int status = judge(options, results, data.complete);
  fmt::print("{} passed, {} failed, {} skipped of {} in {}\n", total.pass, total.fail, total.skip,
             results.size(), data.folder.string());
  return status;
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  for (int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) ::signal(signal, on_signal);
  const TestData data = find_test_data(OCTET_SOURCE_DIR "/../shared", OCTET_BINARY_DIR);
  if (data.folder.empty() && options.json) return print_json(options, {});
  if (data.folder.empty()) {
    fmt::print("skipped: no ONNX node tests; install libonnx-testdata or set OCTET_ONNX_TESTS\n");
    return kSkipped;
  }
  if (options.json) return print_json(options, run_all(data.folder, options));
  if (!options.update) return run_once(options, data);
  Options both = options;
  for (const Runner runner : {Runner::interpreter, Runner::cpu}) {
    both.runner = runner;
    run_once(both, data);
  }
  return 0;
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) { return octet::run(argc, argv); }
