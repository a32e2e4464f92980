// SPDX-License-Identifier: Apache-2.0
#include "cli/exec.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/fail.h"
#include "cli/terminal.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSearched = "LD_LIBRARY_PATH";
constexpr const char* kExecFooter =
    "The program finds libnvinfer.so.10, libnvonnxparser.so.10 and libnvinfer_plugin.so.10 of "
    "Octet, and where there\n"
    "is no driver of CUDA a libcudart.so.12 for such machines, in front of what LD_LIBRARY_PATH "
    "says. All words\n"
    "behind PROGRAM are the program's, and so is the exit code. docs/tensorrt-api.md has what "
    "was run.\n\n"
    "Examples:\n"
    "  octet exec python infer.py model.engine\n"
    "  octet exec ./detector model.onnx\n";

// As they are built, and as they are installed, seen from this program.
fs::path library_folder(const fs::path& program, const char* built, const char* installed) {
  std::error_code error;
  const fs::path places[] = {program / "tensorrt" / built,
                             program / OCTET_LIBRARIES_FROM_PROGRAM / "octet/tensorrt" / installed};
  for (const fs::path& place : places)
    if (fs::is_directory(place, error)) return fs::canonical(place, error);
  return {};
}

bool has_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return driver != nullptr && dlclose(driver) == 0;
}

std::string searched_folders() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path libraries = library_folder(program, "lib-10", "10");
  if (libraries.empty()) {
    fail(Error::Code::unsupported,
         "TensorRT's interface of Octet is not installed beside {}: the build makes it "
         "(tensorrt_libraries), and the package octet-tensorrt has it",
         program.string());
  }
  std::string folders = libraries.string();
  if (!has_driver()) {
    const fs::path runtime = library_folder(program, "cudart", "cudart");
    if (!runtime.empty()) folders += ":" + runtime.string();
  }
  const char* before = std::getenv(kSearched);
  return before == nullptr || *before == '\0' ? folders : folders + ":" + before;
}

// Becomes the program.
[[noreturn]] void become(std::span<char* const> words) {
  setenv(kSearched, searched_folders().c_str(), 1);
  std::vector<char*> arguments(words.begin(), words.end());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  fail(Error::Code::io, "program {} cannot be started: {}", arguments[0], std::strerror(errno));
}

}  // namespace

std::optional<int> as_exec(std::span<char* const> words) {
  if (words.size() < 3 || std::string_view(words[1]) != "exec") return std::nullopt;
  if (words[2][0] == '-') return std::nullopt;  // a flag of the command's own
  try {
    become(words.subspan(2));
  } catch (const Error& error) {
    print_error(error.what());
    return kBadInput;
  }
}

Command add_exec(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("exec", "Start a program that uses TensorRT with Octet instead");
  app->footer(kExecFooter);
  // Words with a program never come here.
  auto program = std::make_shared<std::string>();
  app->add_option("program", *program, "program and its arguments")
      ->required()
      ->type_name("PROGRAM ARGUMENTS...");
  return {app, [] { return kBadInput; }};
}

}  // namespace octet::cli
