// SPDX-License-Identifier: Apache-2.0
#include "data/npz.h"

#include <cstdlib>

#include "data/test_support.h"

namespace octet::test {
namespace {

using Arrays = std::vector<std::pair<std::string, Tensor>>;

Arrays two_arrays() {
  const std::vector<f32> f = {1, 2, 3};
  const std::vector<u8> u = {9, 8};
  return {{"/conv/out:0", Tensor::of<f32>(Shape{3}, f)}, {"b", Tensor::of<u8>(Shape{2, 1}, u)}};
}

void put(std::vector<u8>* bytes, size_t at, u64 value, size_t count) {
  for (size_t i = 0; i < count; ++i) (*bytes)[at + i] = static_cast<u8>(value >> (8 * i));
}

size_t find(const std::vector<u8>& bytes, const std::string& text, size_t from = 0) {
  const auto at = std::search(bytes.begin() + static_cast<ptrdiff_t>(from), bytes.end(),
                              text.begin(), text.end());
  EXPECT_NE(at, bytes.end());
  return static_cast<size_t>(at - bytes.begin());
}

// The archive of two_arrays() with `count` bytes at `offset` of directory entry 0 replaced.
void refuse_entry(size_t offset, u64 value, size_t count, const std::string& says) {
  const TempFolder folder;
  write_npz(folder / "a.npz", two_arrays());
  std::vector<u8> bytes = read_file(folder / "a.npz", 1 << 20);
  put(&bytes, find(bytes, "PK\x01\x02") + offset, value, count);
  const auto path = folder.write("a.npz", bytes);
  expect_error([&] { read_npz(path); }, Error::Code::invalid_argument, {"a.npz", says});
}

TEST(Npz, ReadsWhatNumpyWrites) {
  const auto stored = read_npz(testdata("stored.npz"));
  EXPECT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored.at("u1").type(), (TensorType{Dtype::u8, {2, 3}}));
  EXPECT_EQ(stored.at("u1").as<u8>()[5], 5);
  const auto deflated = read_npz(testdata("deflated.npz"));
  EXPECT_EQ(deflated.size(), 4u);
  EXPECT_EQ(deflated.at("zeros").elements(), 5000);
  EXPECT_EQ(static_cast<f32>(deflated.at("f2").as<f16>()[23]), 1.875f);
  EXPECT_EQ(deflated.at("f4").as<f32>()[23], 1.875f);
}

TEST(Npz, WhatIsWrittenReadsBackEqual) {
  const TempFolder folder;
  write_npz(folder / "a.npz", two_arrays());
  const Npz npz(folder / "a.npz");
  EXPECT_EQ(npz.arrays(), (std::vector<std::string>{"/conv/out:0", "b"}));
  EXPECT_EQ(npz.read("/conv/out:0").as<f32>()[2], 3.0f);
  EXPECT_EQ(npz.header("b").type, (TensorType{Dtype::u8, {2, 1}}));
  EXPECT_EQ(npz.read("b").as<u8>()[0], 9);
  write_npz(folder / "none.npz", Arrays{});
  EXPECT_TRUE(read_npz(folder / "none.npz").empty());
}

TEST(Npz, NumpyReadsWhatIsWritten) {
  const std::string venv = std::string(OCTET_SOURCE_DIR) + "/.venv/bin/python";
  const char* given = std::getenv("OCTET_PYTHON");
  const std::string python =
      given != nullptr ? given : (std::filesystem::exists(venv) ? venv : "python3");
  if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << python << " has no numpy; set OCTET_PYTHON to one that has";
  }
  const TempFolder folder;
  write_npz(folder / "a.npz", two_arrays());
  write_npy(folder / "a.npy", two_arrays()[1].second);
  const auto script = folder.write("check.py", std::string(R"(
import sys, numpy as np
z = np.load(sys.argv[1] + '/a.npz')
assert z.files == ['/conv/out:0', 'b'], z.files
assert z['/conv/out:0'].dtype == np.float32 and z['/conv/out:0'].tolist() == [1, 2, 3]
assert z['b'].tolist() == [[9], [8]]
assert np.load(sys.argv[1] + '/a.npy').tolist() == [[9], [8]]
np.savez_compressed(sys.argv[1] + '/b.npz', x=np.arange(100000, dtype='>i4').reshape(10, -1, order='F'))
with open(sys.argv[1] + '/c.npz', 'wb') as f:
    import zipfile, io
    with zipfile.ZipFile(f, 'w') as archive:
        with archive.open('big.npy', 'w', force_zip64=True) as entry:
            np.lib.format.write_array(entry, np.arange(3))
)"));
  ASSERT_EQ(std::system((python + " " + script.string() + " " + folder.path().string()).c_str()),
            0);
  const Tensor x = read_npz(folder / "b.npz").at("x");
  EXPECT_EQ(x.as<s32>()[1], 10);
  EXPECT_EQ(x.as<s32>()[10000], 1);
  EXPECT_EQ(read_npz(folder / "c.npz").at("big").as<s64>()[2], 2);
}

TEST(Npz, MissingArrayListsThoseThatAreThere) {
  const Npz npz(testdata("stored.npz"));
  expect_error([&] { npz.read("x"); }, Error::Code::invalid_argument, {"'x'", "f4, u1"});
}

TEST(Npz, DamagedDirectoryEntries) {
  refuse_entry(0, 0, 4, "entry");
  refuse_entry(8, 1, 2, "encrypted");
  refuse_entry(10, 12, 2, "method 12");
  refuse_entry(16, 0, 4, "CRC");
  refuse_entry(20, 0xfffffff0fffffff0, 8, "past the file");
  refuse_entry(24, 7, 4, "two different sizes");
  refuse_entry(28, 0xffff, 2, "ends too early");
  refuse_entry(42, 0xfffffff0, 4, "outside");
  refuse_entry(42, 3, 4, "local header");
}

TEST(Npz, ClaimsThatDeflateCannotKeep) {
  const TempFolder folder;
  std::vector<u8> bytes = testdata_bytes("deflated.npz");
  const size_t entry = find(bytes, "PK\x01\x02");
  put(&bytes, entry + 24, 0x7fffffff, 4);
  const auto path = folder.write("bomb.npz", bytes);
  expect_error([&] { read_npz(path); }, Error::Code::invalid_argument, {"bomb.npz", "cannot do"});
}

TEST(Npz, DeclaredSizeBoundsWhatIsUnpacked) {
  const TempFolder folder;
  std::vector<u8> bytes = testdata_bytes("deflated.npz");
  const size_t entry = find(bytes, "PK\x01\x02");
  put(&bytes, entry + 24, 200, 4);  // the array has 224
  const auto path = folder.write("short.npz", bytes);
  expect_error([&] { read_npz(path); }, Error::Code::invalid_argument, {"short.npz", "f4"});
}

TEST(Npz, PathsOutDuplicatesAndOverlaps) {
  const TempFolder folder;
  const Tensor one = Tensor::scalar(1.0f);
  write_npz(folder / "a.npz", Arrays{{"../x", one}});
  expect_error([&] { read_npz(folder / "a.npz"); }, Error::Code::invalid_argument,
               {"../x", "path"});
  expect_error(
      [&] {
        write_npz(folder / "a.npz", Arrays{{"x", one}, {"x", one}});
      },
      Error::Code::invalid_argument, {"'x.npy'", "twice"});
  write_npz(folder / "a.npz", Arrays{{"x", one}, {"y", one}});
  const std::vector<u8> good = read_file(folder / "a.npz", 1 << 20);
  const size_t first = find(good, "PK\x01\x02");
  const size_t second = find(good, "PK\x01\x02", first + 4);
  std::vector<u8> bytes = good;
  bytes[second + 46] = 'x';
  folder.write("a.npz", bytes);
  expect_error([&] { read_npz(folder / "a.npz"); }, Error::Code::invalid_argument,
               {"'x.npy'", "twice"});
  bytes = good;
  put(&bytes, second + 42, 0, 4);
  folder.write("a.npz", bytes);
  expect_error([&] { read_npz(folder / "a.npz"); }, Error::Code::invalid_argument, {"overlap"});
}

TEST(Npz, NotAnArchive) {
  const TempFolder folder;
  expect_error([&] { read_npz(folder.write("a.npz", std::string())); },
               Error::Code::invalid_argument, {"a.npz", "empty"});
  expect_error([&] { read_npz(folder.write("a.npz", std::string("hello"))); },
               Error::Code::invalid_argument, {"a.npz", "end-of-directory"});
  expect_error([&] { read_npz(folder.write("a.npz", std::string("\x93NUMPY\x01"))); },
               Error::Code::invalid_argument, {"a.npz' is a NumPy array, and a zip archive"});
}

TEST(Npz, EveryPrefixIsAnErrorAndEveryFlipIsSurvived) {
  const TempFolder folder;
  for (const char* file : {"stored.npz", "deflated.npz"}) {
    const std::vector<u8> bytes = testdata_bytes(file);
    const auto path = folder.write("a.npz", bytes);
    for (size_t i = 0; i < bytes.size(); ++i) {
      // In place: creating a file for each byte would take most of the time.
      std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
      const u8 damaged[] = {static_cast<u8>(bytes[i] ^ 0x41)};
      out.seekp(static_cast<std::streamoff>(i));
      out.write(reinterpret_cast<const char*>(damaged), 1).flush();
      expect_survives([&] { read_npz(path); });
      out.seekp(static_cast<std::streamoff>(i));
      out.write(reinterpret_cast<const char*>(&bytes[i]), 1).flush();
    }
    EXPECT_GT(read_npz(path).size(), 1u);
    for (size_t n = bytes.size(); n-- > 0;) {
      std::filesystem::resize_file(path, n);
      expect_error([&] { read_npz(path); }, Error::Code::invalid_argument, {"a.npz"});
    }
  }
}

}  // namespace
}  // namespace octet::test
