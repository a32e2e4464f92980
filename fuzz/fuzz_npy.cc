// SPDX-License-Identifier: Apache-2.0
// Any bytes as .npy, and as .npz. What is read is written and read back equal.
#include "data/npy.h"
#include "data/npz.h"
#include "fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

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

void test_one(const Input& input) {
  survives([&] { read_array(input.octets()); });
  survives([&] { read_archive(input.octets()); });
}

}  // namespace

const Target kTarget{.memory = s64{16} << 20, .run = test_one};

}  // namespace octet::fuzz
