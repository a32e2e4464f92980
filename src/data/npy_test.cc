// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include "data/test_support.h"

namespace octet::test {
namespace {

std::vector<f32> counting() {
  std::vector<f32> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<f32>(i) / 8 - 1);
  return values;
}

// A version 1 file with this dictionary and `data_bytes` zero bytes.
std::string npy(const std::string& dict, size_t data_bytes) {
  std::string text = "\x93NUMPY";
  text += '\1';
  text += '\0';
  text += static_cast<char>(dict.size() & 0xff);
  text += static_cast<char>(dict.size() >> 8);
  return text + dict + std::string(data_bytes, '\0');
}

std::string dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

void refuse(const std::string& bytes, Error::Code code, const std::string& says) {
  const TempFolder folder;
  const auto path = folder.write("bad.npy", bytes);
  expect_error([&] { read_npy(path); }, code, {"bad.npy", says});
  expect_error([&] { read_npy_header(path); }, code, {"bad.npy", says});
}

TEST(Npy, ReadsWhatNumpyWrites) {
  for (const char* file : {"f4.npy", "f4_big_fortran.npy"}) {
    const Tensor tensor = read_npy(testdata(file));
    EXPECT_EQ(tensor.shape(), Shape({2, 3, 4})) << file;
    const auto values = tensor.as<f32>();
    EXPECT_THAT(std::vector<f32>(values.begin(), values.end()),
                ::testing::ElementsAreArray(counting()))
        << file;
  }
  EXPECT_EQ(read_npy(testdata("i8_scalar.npy")).as<s64>()[0], -5);
  EXPECT_EQ(read_npy(testdata("i8_scalar.npy")).shape(), Shape{});
  EXPECT_EQ(read_npy(testdata("bool_empty.npy")).type(), (TensorType{Dtype::boolean, {0, 3}}));
}

TEST(Npy, WhatIsWrittenReadsBackEqual) {
  const TempFolder folder;
  const auto path = folder / "a.npy";
  for (int d = 0; d <= static_cast<int>(Dtype::boolean); ++d) {
    if (static_cast<Dtype>(d) == Dtype::bf16) continue;
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 0}, Shape{1, 2, 3, 1, 1, 1, 1, 2}}) {
      Tensor tensor(static_cast<Dtype>(d), shape);
      for (size_t i = 0; i < tensor.bytes(); ++i) tensor.mutable_data()[i] = std::byte(i % 2);
      write_npy(path, tensor);
      const Tensor back = read_npy(path);
      EXPECT_EQ(back.type(), tensor.type());
      EXPECT_EQ(std::vector<std::byte>(back.data(), back.data() + back.bytes()),
                std::vector<std::byte>(tensor.data(), tensor.data() + tensor.bytes()));
    }
  }
}

TEST(Npy, BfloatIsWrittenAsFloat) {
  const TempFolder folder;
  write_npy(folder / "a.npy", Tensor::scalar(bf16(1.5f)));
  EXPECT_EQ(read_npy(folder / "a.npy").as<f32>()[0], 1.5f);
}

TEST(Npy, DataBeginsAtAMultipleOf64) {
  EXPECT_EQ(encode_npy_header({Dtype::f32, {1, 2, 3}}).size() % 64, 0u);
}

TEST(Npy, PickledObjectsAreRefusedByName) {
  expect_error([] { read_npy(testdata("object.npy")); }, Error::Code::unsupported,
               {"object.npy", "pickle"});
  expect_error([] { read_npy(testdata("structured.npy")); }, Error::Code::unsupported,
               {"structured.npy", "structured"});
  expect_error([] { read_npy(testdata("complex.npy")); }, Error::Code::unsupported,
               {"complex.npy", "c8"});
}

TEST(Npy, MalformedHeaders) {
  const auto bad = Error::Code::invalid_argument;
  refuse("", bad, "too few");
  refuse("NUMPY\x93 and more", bad, "magic");
  refuse(std::string("\x93NUMPY\x09\0\x01\0 ", 11), Error::Code::unsupported, "version 9");
  refuse(std::string("\x93NUMPY\x02\0\xff\xff", 10), bad, "within the npy header");
  refuse(std::string("\x93NUMPY\x02\0\xff\xff\xff\x7f ", 13), bad, "header of 2147483647 bytes");
  refuse(npy("{'descr': '<f4'", 0), bad, "malformed");
  refuse(npy("{'descr': '<f4, 'fortran_order'", 0), bad, "malformed");
  refuse(npy("{}", 0), bad, "needs descr");
  refuse(npy("{'descr': '<f4', 'descr': '<f4'}", 0), bad, "twice");
  refuse(npy("{'other': 3}", 0), bad, "unknown key");
  refuse(npy("", 0), bad, "malformed");
  refuse(npy(dict("<f4", "(2,)") + "x", 8), bad, "after the dictionary");
  refuse(npy(dict("<f4", "(2, -1)"), 8), bad, "dimension");
  refuse(npy(dict("<f4", "(2, 'a')"), 8), bad, "dimension");
  refuse(npy(dict("<f4", "(99999999999999999999,)"), 8), bad, "dimension");
  refuse(npy(dict("<f4", "(4611686018427387904, 4611686018427387904)"), 8), bad, "overflows");
  refuse(npy(dict("<f4", "(1,1,1,1,1,1,1,1,1)"), 4), Error::Code::unsupported, "dimensions");
  refuse(npy(dict("<U5", "(2,)"), 40), Error::Code::unsupported, "<U5");
  refuse(npy(dict("", "(2,)"), 40), Error::Code::unsupported, "dtype");
}

TEST(Npy, DataMustFillTheFileExactly) {
  refuse(npy(dict("<f4", "(2,)"), 7), Error::Code::invalid_argument, "needs 8 bytes");
  refuse(npy(dict("<f4", "(2,)"), 9), Error::Code::invalid_argument, "holds 9");
  // Nothing of this size may be allocated before the file is known to be too short.
  refuse(npy(dict("<f4", "(1000000000000,)"), 8), Error::Code::invalid_argument,
         "needs 4000000000000 bytes");
}

TEST(Npy, EveryPrefixIsAnErrorAndEveryFlipIsSurvived) {
  std::vector<u8> bytes = testdata_bytes("f4.npy");
  const auto read = [&](size_t total) {
    size_t at = 0;
    const auto source = [&](std::span<u8> dst) {
      ASSERT_LE(at + dst.size(), total);
      std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), dst.size(), dst.begin());
      at += dst.size();
    };
    read_npy_stream(source, total, "a.npy");
  };
  for (size_t n = 0; n < bytes.size(); ++n) {
    expect_error([&] { read(n); }, Error::Code::invalid_argument, {"a.npy"});
  }
  for (size_t i = 0; i < 128; ++i) {
    for (u8 flip = 1; flip != 0; flip = static_cast<u8>(flip << 1)) {
      bytes[i] ^= flip;
      expect_survives([&] { read(bytes.size()); });
      bytes[i] ^= flip;
    }
  }
}

TEST(Npy, OtherFilesAreRefused) {
  const TempFolder folder;
  expect_error([&] { read_npy(folder / "none.npy"); }, Error::Code::io,
               {"none.npy", "No such file"});
  expect_error([&] { read_npy(folder.path()); }, Error::Code::io, {"regular file"});
}

TEST(Npy, FailedWriteLeavesNothing) {
  const TempFolder folder;
  expect_error([&] { write_npy(folder / "no/such/a.npy", Tensor::scalar(1.0f)); }, Error::Code::io,
               {"a.npy"});
  { AtomicFile abandoned(folder / "b.npy"); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace octet::test
