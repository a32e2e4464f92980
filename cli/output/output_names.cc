// SPDX-License-Identifier: Apache-2.0
#include "cli/output/output_names.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "cli/fail.h"

namespace octet::cli {
namespace {

using namespace std::string_view_literals;

struct Names {
  OutputKind kind;
  const char* what;
  std::string_view extensions;  // each with a space behind it; the first is the usual one
  bool no_other = false;        // programs tell such a file by its extension
};

constexpr Names kNames[] = {
    {OutputKind::arrays, "arrays as an archive of NumPy's", ".npz "sv, true},
    {OutputKind::bundle, "a case as an archive", ".zip "sv, true},
    {OutputKind::report, "one page", ".html .htm "sv, true},
    {OutputKind::onnx, "an ONNX model", ".onnx "sv, true},
    {OutputKind::engine, "an engine", ".octet .engine .plan .trt "sv},
    {OutputKind::runs, "JSON", ".json "sv},
    {OutputKind::trace, "JSON", ".json "sv},
    {OutputKind::tuning, "JSON", ".json .txt .cache "sv},
    {OutputKind::journal, "a journal", ".journal .txt .log "sv},
    {OutputKind::cache, "a calibration cache", ".cache .txt .json "sv},
};

// Formats that somebody may expect from a name, and that no command writes.
constexpr std::string_view kForeign =
    ".bmp .csv .gif .jpeg .jpg .npy .pb .pdf .png .pt .pth .safetensors .svg .tflite .tif .tiff "
    ".txt .webp "
    ".xml .yaml .yml "sv;

bool lists(std::string_view extensions, const std::string& extension) {
  return extensions.find(extension + ' ') != extensions.npos;
}

bool means_another(const Names& own, const std::string& extension) {
  if (own.no_other) return true;
  return lists(kForeign, extension) || std::ranges::any_of(kNames, [&](const Names& names) {
           return lists(names.extensions, extension);
         });
}

}  // namespace

void check_extension(const std::string& flag, const std::filesystem::path& path, OutputKind kind) {
  const auto own = std::ranges::find(kNames, kind, &Names::kind);
  if (own == std::end(kNames)) return;
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (extension.empty() || lists(own->extensions, extension) || !means_another(*own, extension))
    return;
  const std::string_view usual = own->extensions.substr(0, own->extensions.find(' '));
  fail(Error::Code::invalid_argument,
       "{} '{}' would hold {}, which '{}' does not say; name it '{}', or without an extension",
       flag, path.string(), own->what, path.extension().string(),
       std::filesystem::path(path).replace_extension(usual).string());
}

}  // namespace octet::cli
