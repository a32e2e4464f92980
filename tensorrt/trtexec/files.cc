// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/files.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "cli/fail.h"
#include "octet/input.h"

namespace octet::cli::trtexec {
namespace {

// What is read, apart from the files of --loadInputs.
constexpr const char* kRead[] = {"--onnx",  "--loadEngine", "--refitFromOnnx",
                                 "--calib", "--calibData",  "--calibPreprocess"};

// A cache is two files; the second is checked here.
void check_details(const std::string& cache, bool force) {
  constexpr std::string_view kBegins = "{\"format\":\"octet-calibration\"";
  const std::filesystem::path details = details_path(cache);
  std::error_code error;
  if (cache.empty() || force || !std::filesystem::exists(details, error)) return;
  if (read_beginning(details, kBegins.size()) != kBegins)
    fail(
        Error::Code::invalid_argument,
        "--calibCacheOut={}: its details would replace {}, which Octet did not write; name another "
        "file",
        cache, details.string());
}

// A cache that cannot be read is somebody's, however it begins.
void check_readable(const std::string& cache, bool force) {
  std::error_code error;
  if (cache.empty() || force || !std::filesystem::exists(cache, error)) return;
  if (std::filesystem::file_size(cache, error) == 0) return;
  try {
    load_calibration_cache(cache);
  } catch (Error& wrong) {
    wrong.add_context("--calibCacheOut=" + cache +
                      " is there already and would be replaced; name another file, or replace it "
                      "with --force");
    throw;
  }
}

}  // namespace

Files::Files(const Options& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* flag, OutputKind kind) {
    if (options.has(flag)) {
      if (options.given.text(flag).empty())
        fail(Error::Code::invalid_argument, "{} names no file", flag);
      words.push_back(std::string(flag) + "=" + options.given.text(flag));
    }
    return &outputs_.add_flag(app_, {flag, "FILE", kind, ""});
  };
  engine_ = add("--saveEngine", OutputKind::engine);
  cache_ = add("--calibCacheOut", OutputKind::fresh_cache);
  tuning_ = add("--timingCacheFile", OutputKind::tuning);
  times_ = add("--exportTimes", OutputKind::records);
  output_ = add("--exportOutput", OutputKind::records);
  profile_ = add("--exportProfile", OutputKind::records);
  layers_ = add("--exportLayerInfo", OutputKind::layers);
  for (const char* flag : kRead) {
    const std::string value =
        flag == std::string_view("--onnx") ? options.onnx : options.given.text(flag);
    app_.add_option(flag)->type_name("MODEL");
    if (!value.empty()) words.push_back(std::string(flag) + "=" + value);
  }
  app_.add_option("--loadInputs", inputs_)->allow_extra_args(false);
  for (const auto& [name, file] : options.inputs) {
    if (file.empty())
      fail(Error::Code::invalid_argument, "--loadInputs: no file is named for input '{}'", name);
    words.push_back("--loadInputs=" + file);
  }
  if (options.has("--force")) words.emplace_back("--force");
  std::ranges::reverse(words);
  app_.parse(std::move(words));
  outputs_.check(app_);
  check_details(options.given.text("--calibCacheOut"), options.has("--force"));
  check_readable(options.given.text("--calibCacheOut"), options.has("--force"));
}

void write_raw(const std::string& name, std::span<const std::byte> bytes, bool force) {
  CLI::App app;
  Outputs outputs;
  const Output& output = outputs.add_flag(app, {"--raw", "FILE", OutputKind::raw, ""});
  std::vector<std::string> words = {"--raw=" + name};
  if (force) words.insert(words.begin(), "--force");
  app.parse(std::move(words));
  outputs.check(app);
  write_lines(output, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace octet::cli::trtexec
