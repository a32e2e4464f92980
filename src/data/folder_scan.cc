// SPDX-License-Identifier: Apache-2.0
#include "data/folder_scan.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>

#include "core/check.h"
#include "core/file.h"
#include "data/image.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

// Formats that are not decoded are listed too: they must be reported, not silently left out.
constexpr std::string_view kImageExtensions[] = {".jpg",  ".jpeg", ".jpe",  ".jfif", ".png",
                                                 ".gif",  ".webp", ".tif",  ".tiff", ".bmp",
                                                 ".heic", ".heif", ".avif", ".jp2",  ".jxl"};

enum class Kind { image, array, other };

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return extension;
}

// Blobs without an extension are common in caches of downloaded data sets.
bool looks_like_image(const fs::path& path) {
  try {
    const File file(path);
    std::vector<u8> head(static_cast<size_t>(std::min<u64>(file.size(), 16)));
    file.read_at(0, head);
    return !image_format(head).empty();
  } catch (const Error&) {
    return false;
  }
}

Kind kind_of(const fs::path& path) {
  const std::string extension = lower_extension(path);
  if (extension == ".npy" || extension == ".npz") return Kind::array;
  if (extension.empty()) return looks_like_image(path) ? Kind::image : Kind::other;
  const bool image = std::find(std::begin(kImageExtensions), std::end(kImageExtensions),
                               extension) != std::end(kImageExtensions);
  return image ? Kind::image : Kind::other;
}

struct Scan {
  fs::path root;
  std::vector<fs::path> pending;  // relative to root
  std::set<fs::path> visited;     // canonical: a link back to a parent would not end
  std::vector<std::string> images, arrays;
  FolderFiles result;

  void visit_entry(const fs::directory_entry& entry, const fs::path& relative) {
    const std::string name = relative.filename().string();
    if (name.starts_with('.')) return;
    std::error_code error;
    if (entry.is_directory(error)) {
      if (!relative.has_parent_path()) result.sub_folders.push_back(name);
      pending.push_back(relative);
      return;
    }
    switch (kind_of(entry.path())) {
      case Kind::image:
        images.push_back(relative.generic_string());
        break;
      case Kind::array:
        arrays.push_back(relative.generic_string());
        break;
      case Kind::other:
        ++result.ignored;
        break;
    }
  }

  void visit_folder(const fs::path& relative) {
    const fs::path folder = root / relative;
    std::error_code error;
    const fs::path canonical = fs::canonical(folder, error);
    if (!error && !visited.insert(canonical).second) return;
    fs::directory_iterator it(folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      visit_entry(*it, relative / it->path().filename());
    }
    if (error) {
      result.unreadable.push_back(fmt::format("'{}': {}", folder.string(), error.message()));
    }
  }
};

}  // namespace

FolderFiles scan_folder(const fs::path& folder) {
  Scan scan;
  scan.root = folder;
  scan.visit_folder({});
  if (!scan.result.unreadable.empty()) {
    fail(Error::Code::io, "cannot read folder {}", scan.result.unreadable.front());
  }
  // Sorted, so that of two links to one folder the same one is followed on every machine.
  while (!scan.pending.empty()) {
    std::sort(scan.pending.begin(), scan.pending.end(), std::greater<>());
    const fs::path next = scan.pending.back();
    scan.pending.pop_back();
    scan.visit_folder(next);
  }
  FolderFiles& result = scan.result;
  if (!scan.images.empty() && !scan.arrays.empty()) {
    fail(Error::Code::invalid_argument,
         "'{}' mixes images ({}) and arrays ({}); give a folder that holds one kind",
         folder.string(), scan.images.size(), scan.arrays.size());
  }
  if (scan.images.empty() && scan.arrays.empty()) {
    fail(Error::Code::invalid_argument,
         "'{}' holds no JPEG, PNG, WebP, BMP, .npy or .npz file ({} other files); check the path",
         folder.string(), result.ignored);
  }
  result.images = !scan.images.empty();
  result.files = std::move(result.images ? scan.images : scan.arrays);
  std::sort(result.files.begin(), result.files.end());
  std::sort(result.sub_folders.begin(), result.sub_folders.end());
  return std::move(result);
}

std::optional<s64> label_of(const std::string& file, const FolderFiles& folder, LabelRule rule) {
  if (rule == LabelRule::folder) {
    const size_t slash = file.find('/');
    if (slash == file.npos) return std::nullopt;
    const auto& classes = folder.sub_folders;
    const auto found = std::lower_bound(classes.begin(), classes.end(), file.substr(0, slash));
    return found - classes.begin();
  }
  const size_t name = file.rfind('/') + 1;  // npos + 1 == 0
  s64 label = 0;
  const auto [end, error] = std::from_chars(file.data() + name, file.data() + file.size(), label);
  if (error != std::errc() || label < 0) {
    fail(Error::Code::invalid_argument,
         "'{}': its name has no leading number to take as the label; use labels from folders",
         file);
  }
  return label;
}

}  // namespace octet
