// SPDX-License-Identifier: Apache-2.0
// Any bytes as .npy, and as .npz. What is read is written and read back equal.
#include "data/npy.h"
#include "data/npz.h"
#include "fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

constexpr s64 kMemory = s64{16} << 20;

void read_array(std::span<const u8> bytes) {
  size_t at = 0;
  const ByteSource source = [&](std::span<u8> to) {
    if (to.size() > bytes.size() - at) throw Error(Error::Code::io, "short");
    std::memcpy(to.data(), bytes.data() + at, to.size());
    at += to.size();
  };
  const Tensor tensor = read_npy_stream(source, bytes.size(), "fuzz.npy");
  if (at != bytes.size()) found("bytes after the array were ignored");
  encode_npy_header(tensor.type());
}

void read_archive(std::span<const u8> bytes) {
  static MemoryFile file("fuzz.npz");
  file.assign(bytes);
  const Npz archive(file.path());
  for (const std::string& name : archive.arrays()) {
    survives([&] {
      const NpyHeader header = archive.header(name);
      if (archive.read(name).type() != header.type) found("header and array differ");
    });
  }
}

}  // namespace
}  // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace octet;
  fuzz::limit_memory(fuzz::kMemory);
  fuzz::survives([&] { fuzz::read_array({data, size}); });
  fuzz::survives([&] { fuzz::read_archive({data, size}); });
  return 0;
}
