// SPDX-License-Identifier: Apache-2.0
// Node tests whose activations were replaced (substitute.h), built in f32 and in INT8, on the CPU and on test devices, against the scalar
// reference of the same graph. A signal, an internal error, a refusal of what the reference computes or another result is a problem.
//   substituted_tests [FILTER] [--all] [--seed N] [--models N] [--level NAME] [--device NAME]
// Without --all a sample: of so many models a few cases each, at one level of instruction sets. --all runs every case of every model, at one
// level that goes by the model, or at the level named. --device: on this one alone, for example a GPU.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <span>

#include "arch/isa.h"
#include "compare.h"
#include "graph/interpret.h"
#include "octet/compile.h"
#include "octet/engine.h"
#include "octet/error.h"
#include "onnx/import.h"
#include "runtime/inside.h"
#include "substitute.h"
#include "suite.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr int kSkipped = 77;
// Of a case that waits for what never comes; none of them computes for long.
constexpr unsigned kWaitSeconds = 300;
constexpr size_t kCasesEach = 4;  // of a model in a sample

struct Options {
  std::string filter;
  bool all = false;
  u32 seed = 25;
  size_t models = 100;
  std::string level;
  std::string device;
};

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool valued = i + 1 < argc;
    if (argument == "--all") {
      options.all = true;
    } else if (argument == "--seed" && valued) {
      options.seed = static_cast<u32>(std::stoul(argv[++i]));
    } else if (argument == "--models" && valued) {
      options.models = std::stoul(argv[++i]);
    } else if (argument == "--level" && valued) {
      options.level = argv[++i];
    } else if (argument == "--device" && valued) {
      options.device = argv[++i];
    } else {
      options.filter = argument;
      options.all = true;
    }
  }
  return options;
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

NodeTest read_test(const fs::path& folder) {
  NodeTest test;
  const fs::path data = folder / "test_data_set_0";
  if (!test.model.ParseFromString(read_file(folder / "model.onnx")))
    fail(Error::Code::invalid_model, "not a model");
  for (int i = 0; i < test.model.graph().input_size(); ++i) {
    const fs::path file = data / fmt::format("input_{}.pb", i);
    test.tensors.push_back(import_tensor(file));
    if (!test.inputs.emplace_back().ParseFromString(read_file(file)))
      fail(Error::Code::invalid_model, "not a tensor");
  }
  for (int i = 0; i < test.model.graph().output_size(); ++i)
    test.outputs.push_back(import_tensor(data / fmt::format("output_{}.pb", i)));
  return test;
}

std::string bytes_of(const pb::ModelProto& model) { return model.SerializeAsString(); }

std::span<const std::byte> span_of(const std::string& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

// What a run gave, or the error that it ended with.
struct Result {
  std::vector<Tensor> outputs;
  std::optional<Error> error = {};
};

template <class F>
Result result_of(const F& run) {
  try {
    return {run()};
  } catch (const Error& error) {
    return {{}, error};
  }
}

std::string first_difference(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  if (got.size() != want.size()) return "another number of outputs";
  for (size_t i = 0; i < got.size(); ++i) {
    std::string text = difference(got[i], want[i]);
    if (!text.empty()) return fmt::format("output {}: {}", i, text);
  }
  return {};
}

// Empty where the run did what the reference did.
std::string problem_of(const Result& got, const Result& want) {
  if (got.error && got.error->code() == Error::Code::internal) return got.error->what();
  if (want.error || (got.error && got.error->code() == Error::Code::unsupported)) return {};
  if (got.error) return std::string("refused: ") + got.error->what();
  return first_difference(got.outputs, want.outputs);
}

// Problems of one build on all devices.
std::string problem_of(const Engine& engine, const Substituted& s, const Result& want,
                       size_t number, const std::string& only) {
  std::vector<std::string> devices = {"cpu", fmt::format("test:{}", 1 + number % 5), "test:0"};
  if (!only.empty()) devices = {only};
  for (const std::string& device : devices) {
    const Result got = result_of([&] {
      ContextOptions options;
      options.device = device;
      options.threads = 1 + static_cast<int>(number % 3);
      Context context = engine.make_context(options);
      return context.run(std::span<const Tensor>(s.inputs));
    });
    if (std::string problem = problem_of(got, want); !problem.empty())
      return device + ": " + problem;
  }
  return {};
}

std::string problem_of(const Substituted& s, size_t number, bool int8, const std::string& only) {
  const std::string bytes = bytes_of(s.model);
  Result want = result_of([&] { return interpret(import_onnx(span_of(bytes)), s.inputs); });
  std::optional<Engine> engine;
  const Result built = result_of([&] {
    CompileOptions options;
    options.plan.int8 = int8;
    if (int8) options.calibration.emplace().ranges = {{"*", -4, 4}};
    engine = compile(span_of(bytes), options);
    return std::vector<Tensor>();
  });
  if (!engine) {
    const bool expected = want.error || int8 || built.error->code() == Error::Code::unsupported;
    if (expected && built.error->code() != Error::Code::internal) return {};
    return std::string("build: ") + built.error->what();
  }
  if (int8) want = result_of([&] { return interpret(Inside::model(*engine).graph, s.inputs); });
  return problem_of(*engine, s, want, number, only);
}

// Tells the other process what it begins and what it finds.
class Reporter {
 public:
  explicit Reporter(int file) : file_(file) {}
  void begin(size_t number) const { say(fmt::format("B{}\n", number)); }
  void problem(std::string text) const {
    std::ranges::replace(text, '\n', ' ');
    say("P" + text + "\n");
  }

 private:
  void say(const std::string& line) const { (void)!::write(file_, line.data(), line.size()); }
  int file_;
};

// Cases [first, ...) in a process of their own, which may die.
struct Child {
  const std::vector<Substituted>& cases;
  const std::vector<size_t>& chosen;
  const std::string& level;
  const std::string& only;  // the device, or all

  [[noreturn]] void run(size_t first, const Reporter& reporter) const {
    ::setenv("OCTET_CPU_ISA", level.c_str(), 1);
    for (size_t c = first; c < chosen.size(); ++c) {
      ::alarm(kWaitSeconds);
      reporter.begin(c);
      for (const bool int8 : {false, true}) {
        std::string problem;
        try {
          problem = problem_of(cases[chosen[c]], chosen[c], int8, only);
        } catch (const std::exception& error) {
          problem = std::string("foreign exception: ") + error.what();
        }
        if (!problem.empty()) reporter.problem((int8 ? "INT8: " : "f32: ") + problem);
      }
    }
    ::_exit(0);
  }
};

class Suite {
 public:
  explicit Suite(const Options& options) : options_(options), random_(options.seed) {}

  void run(const fs::path& folder) {
    std::vector<fs::path> tests;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && name.find(options_.filter) != name.npos)
        tests.push_back(entry.path());
    }
    std::ranges::sort(tests);
    if (!options_.all) {
      std::ranges::shuffle(tests, random_);
      tests.resize(std::min(tests.size(), options_.models));
    }
    for (size_t t = 0; t < tests.size(); ++t) run_model(tests[t], t);
  }

  size_t models = 0, cases = 0, problems = 0;

 private:
  void run_model(const fs::path& folder, size_t number) {
    std::vector<Substituted> made;
    try {
      made = substitutions(read_test(folder));
    } catch (const Error&) {
      return;  // sequences and the like
    }
    std::vector<size_t> chosen(made.size());
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i;
    if (!options_.all) {
      std::ranges::shuffle(chosen, random_);
      chosen.resize(std::min(chosen.size(), kCasesEach));
    }
    ++models;
    cases += chosen.size();
    const std::string name = folder.filename().string(), level = level_of(number);
    for (size_t first = 0; first < chosen.size();)
      first = run_child(name, {made, chosen, level, options_.device}, first);
  }

  std::string level_of(size_t number) const {
    if (!options_.level.empty()) return options_.level;
    std::vector<Isa> levels;
    for (const Isa isa : kIsaLevels)
      if (hardware_has(isa)) levels.push_back(isa);
    return std::string(isa_name(levels[number % levels.size()]));
  }

  // Where to go on: behind the case in which the process died, if it did.
  size_t run_child(const std::string& name, const Child& child, size_t first) {
    int ends[2];
    if (::pipe(ends) != 0) fail(Error::Code::io, "no pipe");
    std::fflush(stdout);
    const pid_t pid = ::fork();
    if (pid < 0) fail(Error::Code::io, "no process");
    if (pid == 0) {
      ::close(ends[0]);
      child.run(first, Reporter(ends[1]));
    }
    ::close(ends[1]);
    size_t at = first;
    FILE* lines = ::fdopen(ends[0], "r");
    char* line = nullptr;
    size_t room = 0;
    while (::getline(&line, &room, lines) > 0) {
      if (line[0] == 'B') at = std::stoul(line + 1);
      if (line[0] == 'P') report(name, child, at, line + 1);
    }
    std::free(line);
    std::fclose(lines);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return child.chosen.size();
    report(name, child, at, WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "it left early");
    return at + 1;
  }

  void report(const std::string& name, const Child& child, size_t at, std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    ++problems;
    fmt::print("{} [{}] at {}: {}\n", name, child.cases[child.chosen[at]].name, child.level, text);
  }

  const Options& options_;
  std::mt19937 random_;
};

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const TestData data = find_test_data(OCTET_SOURCE_DIR "/../shared", OCTET_BINARY_DIR);
  if (data.folder.empty()) {
    fmt::print("skipped: no ONNX node tests; install libonnx-testdata or set OCTET_ONNX_TESTS\n");
    return kSkipped;
  }
  Suite suite(options);
  suite.run(data.folder);
  fmt::print("{} cases of {} models, {} problems\n", suite.cases, suite.models, suite.problems);
  return suite.problems == 0 && suite.cases > 0 ? 0 : 1;
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) { return octet::run(argc, argv); }
