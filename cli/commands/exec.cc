// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/exec.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/fail.h"
#include "cli/output/terminal.h"
#include "cli/process.h"
#include "cli/tensorrt_folders.h"
#include "octet/machine.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSearched = "LD_LIBRARY_PATH";
constexpr const char* kExecFooter =
    "The program finds libnvinfer.so.10, libnvonnxparser.so.10 and libnvinfer_plugin.so.10 of "
    "Octet, and where there\n"
    "is no GPU that Octet can use the libraries of CUDA 12 and 13 for such machines, in front of "
    "what LD_LIBRARY_PATH\n"
    "says. All words behind PROGRAM are the program's, and so is the exit code; -- in front of it "
    "ends octet's own flags.\n"
    "docs/tensorrt-api.md has what was run.\n\n"
    "Examples:\n"
    "  octet exec python infer.py model.engine\n"
    "  octet exec -- ./detector model.onnx\n";

// As the libraries decide where they run (tensorrt/shared/gpu.cc).
bool has_gpu() {
  try {
    device_info("cuda:0");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The runtime of CUDA for this machine, and what programs were linked with beside it.
std::string runtime_folders(const fs::path& runtime) {
  std::string folders = ":" + runtime.string();
  if (fs::is_directory(runtime / "libraries")) folders += ":" + (runtime / "libraries").string();
  return folders;
}

std::string searched_folders() {
  const auto libraries = tensorrt_folders("10");
  if (libraries.empty()) {
    fail(Error::Code::unsupported,
         "TensorRT's interface of Octet is not installed beside octet: {}", kHowToGetTensorrt);
  }
  std::string folders = fs::canonical(libraries[0]).string();
  if (const auto runtime = tensorrt_folders("cudart"); !runtime.empty() && !has_gpu())
    folders += runtime_folders(fs::canonical(runtime[0]));
  const char* before = std::getenv(kSearched);
  return before == nullptr || *before == '\0' ? folders : folders + ":" + before;
}

// Becomes the program.
[[noreturn]] void become(std::span<char* const> words) {
  setenv(kSearched, searched_folders().c_str(), 1);
  std::vector<char*> arguments(words.begin(), words.end());
  arguments.push_back(nullptr);
  restore_signals();
  execvp(arguments[0], arguments.data());
  const int failed = errno;
  prepare_process();
  fail(Error::Code::io, "program {} cannot be started: {}", arguments[0], std::strerror(failed));
}

// The program and its arguments; nothing where the words are none of the command, or have a flag of its own.
std::optional<std::span<char* const>> program_of(std::span<char* const> words) {
  if (words.size() < 3 || std::string_view(words[1]) != "exec") return std::nullopt;
  if (std::string_view(words[2]) == "--") return words.subspan(3);
  if (words[2][0] == '-') return std::nullopt;
  return words.subspan(2);
}

}  // namespace

std::optional<int> as_exec(std::span<char* const> words) {
  const auto program = program_of(words);
  if (!program) return std::nullopt;
  if (program->empty()) {
    print_error("program is required: octet exec -- PROGRAM ARGUMENTS...");
    print_context("see octet exec --help");
    return kBadInput;
  }
  try {
    become(*program);
  } catch (const std::exception& error) {
    print_error(error.what());
    return kBadInput;
  }
}

Command add_exec(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("exec", "Start a program that uses TensorRT with Octet instead");
  app->footer(kExecFooter);
  auto program = std::make_shared<std::vector<std::string>>();
  app->add_option("program", *program, "program and its arguments, behind -- or not")
      ->required()
      ->type_name("PROGRAM ARGUMENTS...");
  // Words with a program right behind the command never come here.
  return {app, [program]() -> int {
            fail(Error::Code::invalid_argument,
                 "the program and its arguments stand right behind exec: octet exec -- {} ...",
                 program->front());
          }};
}

}  // namespace octet::cli
