// SPDX-License-Identifier: Apache-2.0
#include "cli/engine_source.h"

#include <fstream>
#include <string>

#include "cli/messages.h"
#include "octet/compile.h"

namespace octet::cli {
namespace {

bool begins_as_engine(const std::filesystem::path& path) {
  constexpr std::string_view kEngine = "OCTETENG";
  std::string begins(kEngine.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begins.data(), static_cast<std::streamsize>(begins.size())) && begins == kEngine;
}

}  // namespace

Engine open_engine(const std::filesystem::path& path, int threads) {
  if (path.extension() != ".onnx" || begins_as_engine(path)) return Engine::load(path);
  CompileOptions options;
  options.threads = threads;
  CompileReport report;
  Engine engine = compile(path, options, &report);
  for (const std::string& warning : report.warnings) detail(warning);
  return engine;
}

}  // namespace octet::cli
