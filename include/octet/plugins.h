// SPDX-License-Identifier: Apache-2.0
// Operators from shared libraries, which speak octet/plugin.h. A plugin is native code with all rights of the process: only this call
// loads one, never a model or an engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "octet/error.h"

struct octet_plugin;

namespace octet {

struct PluginOperatorInfo {
  std::string name;
  std::string domain;
  uint32_t version = 0;
  std::string declaration;  // hash of what it declares
  std::vector<std::string> combinations;
  std::string native;  // of the same name in Octet itself: what that one has to offer; may be empty
};

struct PluginInfo {
  std::string name;
  std::string version;
  std::filesystem::path path;  // empty: of the process itself
  std::vector<PluginOperatorInfo> operators;
};

// Adds the operators of a library to this process, for as long as it lives. A library that is loaded already is left as it is. Throws
// Error naming what is wrong with the file or with a declaration; then none of its operators is added.
PluginInfo load_plugin(const std::filesystem::path& library);
// The same for a plugin that is part of the program.
PluginInfo add_plugin(const octet_plugin& plugin);

std::vector<PluginInfo> loaded_plugins();

// A conformance run for authors, in processes of their own: what a plugin does to memory, or by never returning, is a finding.
struct PluginFinding {
  std::string op;           // "DOMAIN/NAME"; empty: of the library
  std::string combination;  // empty: of the operator
  std::string check;        // "guard pages"
  bool passed = false;
  bool skipped = false;  // `message` says why
  std::string message;   // what was wrong, or how much was tried
};

struct PluginCheckOptions {
  // "cuda", "cuda:1": also runs combinations for CUDA pointers, there. A device that cannot be used is a finding. Empty: they are skipped.
  std::string device;
  int threads = 4;    // that run one instance at the same time
  int seconds = 20;   // for one check; who takes longer hangs
  uint64_t seed = 1;  // of data and shapes
  int64_t memory =
      int64_t{4} << 30;  // resident bytes of one check and of all processes that it starts
};

struct PluginCheck {
  std::vector<PluginFinding> findings;
  bool passed() const;
};

// Throws Error for a file that cannot be read and for a device that is none of CUDA's; what is wrong with the plugin is in the findings.
PluginCheck check_plugin(const std::filesystem::path& library,
                         const PluginCheckOptions& options = {});

// Writes a plugin that compiles, with CMake and a test, into a new folder. `name` is the operator's: letters, digits and _. Throws Error
// where the folder is there already.
void new_plugin(const std::string& name, const std::filesystem::path& folder);

}  // namespace octet
