// SPDX-License-Identifier: Apache-2.0
#include "core/sniff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/test_models.h"

namespace octet::test {
namespace {

using namespace std::string_literals;

TEST(Sniff, NamesForeignFiles) {  // I58
  const struct {
    std::string bytes;
    const char* named;
  } cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"},
      {"<!DOCTYPE html><html>", "HTML page"},
      {"\r\n  <HTML lang=en>", "HTML page"},
      {"\x1f\x8b\x08\0"s, "gzip"},
      {"PK\x03\x04rest", "export the model to ONNX"},
      {"\xfd"
       "7zXZ\0\0"s,
       "xz"},
      {"\x1c\0\0\0TFL3"s, "TensorFlow Lite"},
      {"ftrt\0\0"s, "TensorRT"},
      {"ptrt\0\0"s, "TensorRT"},
      {"OCTET\0"s, "already built"},
      {"GGUF\3"s, "GGUF"},
      {"\x80\x04\x95", "pickle"},
      {"\x10\0\0\0\0\0\0\0{\"a\""s, "safetensors"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(std::string(sniff_foreign(as_bytes(c.bytes))), testing::HasSubstr(c.named))
        << c.bytes;
    try {
      import_onnx(as_bytes(c.bytes));
      ADD_FAILURE() << c.named;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_model);
      EXPECT_THAT(error.what(), testing::HasSubstr(c.named));
    }
  }
}

TEST(Sniff, ModelsAndShortFilesAreNotForeign) {
  EXPECT_EQ(sniff_foreign(as_bytes(relu_model().SerializeAsString())), "");
  for (const char* text : {"", "<", "v", "\x08"}) EXPECT_EQ(sniff_foreign(as_bytes(text)), "");
}

}  // namespace
}  // namespace octet::test
