// SPDX-License-Identifier: Apache-2.0
// A case as a zip archive: case.json, and the files that it names with their hashes.
#include <algorithm>
#include <cstring>
#include <set>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/memory.h"
#include "data/npy.h"
#include "data/zip_entry.h"
#include "data/zip_writer.h"
#include "inspect/cases/case_json.h"

namespace octet {
namespace {

constexpr const char* kCaseJson = "case.json";
constexpr const char* kCaseEngine = "engine.octet";
constexpr const char* kCaseModel = "model.onnx";
constexpr const char* kCaseCache = "calibration.cache";
constexpr const char* kCaseCacheDetails = "calibration.cache.json";

std::string run_file(size_t run, const char* kind, size_t index) {
  return fmt::format("runs/{}/{}/{}.npy", run, kind, index);
}

std::span<const u8> bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const u8*>(tensor.data()), tensor.bytes()};
}

std::span<const u8> text_bytes(std::string_view text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

std::string_view text_of_bytes(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()};
}

// Each file of the case, in the order of the archive, as its pieces.
class CaseMembers {
 public:
  explicit CaseMembers(const Case& from) : from_(from) {
    if (from.cache) cache_ = to_text(*from.cache);
  }

  template <class Take>
  void each(const Take& take) const {
    if (from_.engine) take(kCaseEngine, {}, bytes_of(from_.engine));
    if (from_.model) take(kCaseModel, {}, bytes_of(from_.model));
    if (from_.cache) take(kCaseCache, {}, text_bytes(cache_));
    if (from_.cache && !from_.cache->details.empty())
      take(kCaseCacheDetails, {}, text_bytes(from_.cache->details));
    for (size_t i = 0; i < from_.runs.size(); ++i) {
      each_array(i, "inputs", from_.runs[i].inputs, take);
      each_array(i, "outputs", from_.runs[i].outputs, take);
    }
  }

 private:
  template <class Take>
  static void each_array(size_t run, const char* kind, const std::vector<Tensor>& tensors,
                         const Take& take) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor tensor = numpy_compatible(tensors[i]);
      const std::vector<u8> header = encode_npy_header(tensor.type());
      take(run_file(run, kind, i), header, bytes_of(tensor));
    }
  }

  const Case& from_;
  std::string cache_;
};

void write_archive(const Case& from, const std::filesystem::path& path) {
  const CaseMembers members(from);
  CaseFiles files;
  members.each([&](const std::string& name, std::span<const u8> header, std::span<const u8> data) {
    ContentHash hash;
    hash.add(std::as_bytes(header));
    hash.add(std::as_bytes(data));
    files[name] = hash.digest().hex();
  });
  ZipWriter archive(path);
  archive.add(kCaseJson, {text_bytes(write_case_json(from, files))});
  members.each([&](const std::string& name, std::span<const u8> header, std::span<const u8> data) {
    archive.add(name, {header, data});
  });
  archive.commit();
}

class CaseReader {
 public:
  explicit CaseReader(const std::filesystem::path& path) : file_(path) {
    for (ZipEntry& entry : read_zip_directory(file_)) {
      std::string name = entry.name;
      entries_.emplace(std::move(name), std::move(entry));
    }
  }

  Case read() {
    if (!entries_.contains(kCaseJson)) wrong("is no case: it has no {}", kCaseJson);
    Case result;
    const Tensor json = unpack(kCaseJson);
    read_case_json(text_of_bytes(json), label(kCaseJson), result, files_);
    check_entries();
    if (files_.contains(kCaseEngine)) result.engine = take(kCaseEngine);
    if (result.engine && files_[kCaseEngine] != result.engine_hash)
      wrong("holds an engine that is not the one it tells of");
    if (files_.contains(kCaseModel)) result.model = take(kCaseModel);
    if (files_.contains(kCaseCache)) result.cache = take_cache();
    for (size_t i = 0; i < result.runs.size(); ++i) {
      take_arrays(i, "inputs", result.inputs.size(), result.runs[i].inputs);
      take_arrays(i, "outputs", result.outputs.size(), result.runs[i].outputs);
    }
    for (const auto& [name, hash] : files_) {
      if (!taken_.contains(name)) wrong("names '{}', which is no part of a case", name);
    }
    return result;
  }

 private:
  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
    fail(Error::Code::invalid_argument, "'{}' {}", file_.name(),
         fmt::format(format, std::forward<Args>(args)...));
  }

  std::string label(const std::string& name) const { return file_.name() + ':' + name; }

  // What is there and what is named are the same.
  void check_entries() const {
    for (const auto& [name, entry] : entries_) {
      if (name != kCaseJson && !files_.contains(name))
        wrong("holds '{}', which its {} does not name", name, kCaseJson);
    }
    for (const auto& [name, hash] : files_) {
      if (name == kCaseJson || !entries_.contains(name)) wrong("has no '{}'", name);
    }
  }

  Tensor unpack(const std::string& name) const {
    const ZipEntry& entry = entries_.at(name);
    const std::string text = label(name);
    check_fits(static_cast<s64>(std::min<u64>(entry.bytes, s64{1} << 62)), "'" + text + "'");
    ZipEntryReader reader(file_, entry, text);
    Tensor bytes(Dtype::u8, Shape{static_cast<s64>(entry.bytes)});
    reader.read({reinterpret_cast<u8*>(bytes.mutable_data()), bytes.bytes()});
    reader.finish();
    return bytes;
  }

  Tensor take(const std::string& name) {
    const auto expected = files_.find(name);
    if (expected == files_.end()) wrong("has no '{}'", name);
    Tensor bytes = unpack(name);
    const std::string hash = digest_of({bytes.data(), bytes.bytes()}).hex();
    if (hash != expected->second)
      wrong("holds another '{}' than it was made with: its hash is {}, not {}", name, hash,
            expected->second);
    taken_.insert(name);
    return bytes;
  }

  CalibrationCache take_cache() {
    const Tensor text = take(kCaseCache);
    CalibrationCache cache = parse_calibration_cache(text_of_bytes(text), label(kCaseCache));
    if (files_.contains(kCaseCacheDetails)) cache.details = text_of_bytes(take(kCaseCacheDetails));
    return cache;
  }

  void take_arrays(size_t run, const char* kind, size_t count, std::vector<Tensor>& into) {
    for (size_t i = 0; i < count; ++i) {
      const std::string name = run_file(run, kind, i);
      const Tensor bytes = take(name);
      std::span<const u8> rest = bytes_of(bytes);
      const ByteSource source = [&](std::span<u8> to) {
        if (to.size() > rest.size()) wrong("has a '{}' that ends too early", name);
        std::memcpy(to.data(), rest.data(), to.size());
        rest = rest.subspan(to.size());
      };
      into.push_back(read_npy_stream(source, bytes.bytes(), label(name)));
    }
  }

  File file_;
  std::map<std::string, ZipEntry> entries_;
  CaseFiles files_;
  std::set<std::string> taken_;
};

}  // namespace

void save_case(const Case& from, const std::filesystem::path& path) {
  without_bad_alloc([&] { write_archive(from, path); });
}

Case load_case(const std::filesystem::path& path) {
  return without_bad_alloc([&] { return CaseReader(path).read(); });
}

}  // namespace octet
