// SPDX-License-Identifier: Apache-2.0
// The engine of a command: from a file of Octet's, or made in memory of an ONNX model, as it stands there (FP32, or its own Q/DQ).
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "octet/engine.h"

namespace octet::cli {

// How a command reads ONNX models.
struct ModelFlags {
  std::filesystem::path weights_root;
};
void add_weights_root_flag(CLI::App& app, std::filesystem::path& folder);

struct EngineSource {
  std::filesystem::path path;
  int threads = 1;
  ModelFlags model = {};
  std::map<std::string, Shape> shapes = {};  // of a model's inputs that it leaves open
  bool mmap = false;                         // an engine's large weights stay in its file
};

// Whatever its name is: plans of trtexec and standard input too.
bool begins_as_engine(const std::filesystem::path& path);

// What begins as an engine file is loaded; a name that ends in .onnx, or standard input that begins as no engine, is compiled; the
// rest is an error. Warns where a model, of which there is no file to map, is asked to be mapped.
Engine open_engine(const EngineSource& source);

}  // namespace octet::cli
