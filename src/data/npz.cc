// SPDX-License-Identifier: Apache-2.0
#include "data/npz.h"

#include "core/check.h"
#include "core/memory.h"
#include "data/zip_entry.h"
#include "data/zip_writer.h"
#include "octet/closest.h"

namespace octet {
namespace {

void write_array(ZipWriter& archive, const std::string& name, const Tensor& array) {
  const Tensor tensor = numpy_compatible(array);
  const std::vector<u8> header = encode_npy_header(tensor.type());
  archive.add(name + ".npy",
              {header, {reinterpret_cast<const u8*>(tensor.data()), tensor.bytes()}});
}

}  // namespace

Npz::Npz(const std::filesystem::path& path) : file_(path) {
  for (ZipEntry& entry : read_zip_directory(file_)) {
    // Anything that is not an array (a note, say) is left alone.
    if (!entry.name.ends_with(".npy")) continue;
    const std::string array = entry.name.substr(0, entry.name.size() - 4);
    order_.push_back(array);
    entries_.emplace(array, std::move(entry));
  }
}

std::vector<std::string> Npz::arrays() const { return order_; }

bool Npz::has(const std::string& array) const { return entries_.contains(array); }

std::string Npz::label(const std::string& array) const { return name() + ':' + array; }

const ZipEntry& Npz::entry(const std::string& array) const {
  const auto found = entries_.find(array);
  if (found != entries_.end()) return found->second;
  fail(Error::Code::invalid_argument, "'{}' has no array '{}'{}; it has: {}", name(), array,
       did_you_mean(array, order_), fmt::join(order_, ", "));
}

NpyHeader Npz::header(const std::string& array) const {
  const ZipEntry& e = entry(array);
  const std::string text = label(array);
  ZipEntryReader reader(file_, e, text);
  return read_npy_header([&](std::span<u8> dst) { reader.read(dst); }, e.bytes, text);
}

Tensor Npz::read(const std::string& array) const {
  const ZipEntry& e = entry(array);
  const std::string text = label(array);
  ZipEntryReader reader(file_, e, text);
  Tensor tensor = read_npy_stream([&](std::span<u8> dst) { reader.read(dst); }, e.bytes, text);
  reader.finish();
  return tensor;
}

namespace {

std::map<std::string, Tensor> read_all(const Npz& archive) {
  std::map<std::string, Tensor> arrays;
  u64 total = 0;
  for (const std::string& name : archive.arrays()) {
    total += static_cast<u64>(archive.header(name).type.bytes());
    if (total > max_array_bytes()) {
      fail(Error::Code::out_of_memory, "'{}': its arrays need more than the limit of {} bytes",
           archive.name(), max_array_bytes());
    }
  }
  for (const std::string& name : archive.arrays()) arrays.emplace(name, archive.read(name));
  return arrays;
}

void write_all(const std::filesystem::path& path,
               std::span<const std::pair<std::string, Tensor>> arrays) {
  ZipWriter archive(path);
  for (const auto& [name, tensor] : arrays) {
    if (name.empty())
      fail(Error::Code::invalid_argument, "'{}': an array has no name", path.string());
    write_array(archive, name, tensor);
  }
  archive.commit();
}

}  // namespace

std::vector<std::string> npz_arrays(const std::filesystem::path& path) {
  return without_bad_alloc([&] { return Npz(path).arrays(); });
}

Tensor read_npz(const std::filesystem::path& path, const std::string& array) {
  return without_bad_alloc([&] { return Npz(path).read(array); });
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  return without_bad_alloc([&] { return read_all(Npz(path)); });
}

void write_npz(const std::filesystem::path& path,
               std::span<const std::pair<std::string, Tensor>> arrays) {
  without_bad_alloc([&] { write_all(path, arrays); });
}

}  // namespace octet
