// SPDX-License-Identifier: Apache-2.0
#include "cli/output/output_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/samples/reference.h"
#include "octet/error.h"
#include "octet/weights.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

// Folders behind links are entered too, as the data reader does; each once.
bool holds(const fs::path& folder, const fs::path& file) {
  std::set<fs::path> entered;
  std::vector<fs::path> pending = {folder};
  while (!pending.empty()) {
    const fs::path at = pending.back();
    pending.pop_back();
    std::error_code error;
    if (!entered.insert(fs::canonical(at, error)).second || error) continue;
    for (auto it = fs::directory_iterator(at, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
      std::error_code gone;
      if (it->is_directory(gone)) {
        pending.push_back(it->path());
      } else if (same_file(it->path(), file)) {
        return true;
      }
    }
  }
  return false;
}

// The file of "data.npz:images[0:200]" or "onnxruntime:model.onnx", where that is not a file's name itself.
fs::path without_selector(const std::string& words) {
  const std::string text = without_runtime(words);
  std::error_code error;
  if (fs::exists(text, error)) return text;
  const size_t at = std::min(text.find(".npz:"), text.find(".npz["));
  return at == text.npos ? text : text.substr(0, at + 4);
}

bool holds_weights(const fs::path& model, const fs::path& file) {
  std::vector<fs::path> weights;
  try {
    weights = weights_files(model);
  } catch (const Error&) {
    // No model: the command that takes it for one says so, and writes nothing.
    return false;
  }
  return std::any_of(weights.begin(), weights.end(),
                     [&](const fs::path& path) { return same_file(path, file); });
}

bool is_input(const CLI::Option& option, const std::string& value, const fs::path& file) {
  const fs::path input = without_selector(value);
  std::error_code error;
  if (fs::is_directory(input, error)) return holds(input, file);
  if (same_file(input, file)) return true;
  const bool model = option.get_type_name().find("MODEL") != std::string::npos;
  return model && fs::is_regular_file(input, error) && holds_weights(input, file);
}

}  // namespace

std::string flag_name(const CLI::Option& option) {
  if (!option.get_snames().empty()) return "-" + option.get_snames().front();
  return option.get_name();
}

std::optional<std::string> input_that_is(const fs::path& file, const CLI::App& app,
                                         const std::set<const CLI::Option*>& not_inputs) {
  for (const CLI::Option* option : app.get_options()) {
    if (not_inputs.contains(option)) continue;
    for (const std::string& value : option->results()) {
      if (is_input(*option, value, file)) return fmt::format("{} '{}'", flag_name(*option), value);
    }
  }
  return std::nullopt;
}

}  // namespace octet::cli
