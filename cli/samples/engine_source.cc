// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/engine_source.h"

#include <string>

#include "cli/output/messages.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "octet/compile.h"
#include "octet/input.h"
#include "octet/mapped_engine.h"

namespace octet::cli {

bool begins_as_engine(const std::filesystem::path& path) {
  constexpr std::string_view kEngine = "OCTETENG";
  return read_beginning(path, kEngine.size()) == kEngine;
}

void add_weights_root_flag(CLI::App& app, std::filesystem::path& folder) {
  app.add_option("--weights-root", folder,
                 "weights files of a model may be links that end below this folder")
      ->type_name("DIR");
}

Engine open_engine(const EngineSource& source) {
  const bool model = source.path.extension() == ".onnx" || is_standard_input(source.path);
  if (!model || begins_as_engine(source.path))
    return source.mmap ? map_engine(source.path) : Engine::load(source.path);
  if (source.mmap) print_warning("--mmap has no effect: a model is compiled in memory");
  CompileOptions options;
  options.threads = source.threads;
  options.weights_root = source.model.weights_root;
  options.input_shapes = source.shapes;
  CompileReport report;
  Engine engine = compile(source.path, options, &report);
  for (const std::string& warning : report.warnings) detail(warning);
  return engine;
}

}  // namespace octet::cli
