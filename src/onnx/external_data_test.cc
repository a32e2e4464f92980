// SPDX-License-Identifier: Apache-2.0
#include "onnx/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "core/folder_testing.h"
#include "onnx/test_models.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class External : public test::InFolder {
 protected:
  void SetUp() override {
    model_folder_ = folder_ / "model";
    fs::create_directories(model_folder_ / "sub");
    write(model_folder_ / "w.bin");
    write(model_folder_ / "sub/w.bin");
    write(folder_ / "outside.bin");
  }

  static void write(const fs::path& file) {
    const f32 values[] = {0, 1, 2, 3, 4, 5, 6, 7};
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof values);
  }

  // Of what write() writes.
  static constexpr const char* kSha1 = "a00dc06e2530ee9f9d0babf934c6ce4e590b5a0c";

  using Entries = std::vector<std::pair<std::string, std::string>>;

  // The weights that a model with this external data gets, or the error's text.
  std::string import(const Entries& entries, const fs::path& data_root = {}) {
    pb::ModelProto model = add_model();
    pb::TensorProto& tensor = add_initializer(model, "w", {4}, {});
    tensor.set_data_location(1);
    for (const auto& [key, value] : entries) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    std::ofstream(model_folder_ / "m.onnx", std::ios::binary) << model.SerializeAsString();
    ImportOptions options;
    options.external_data_root = data_root;
    try {
      const Graph graph = import_onnx(model_folder_ / "m.onnx", options);
      std::string text;
      for (f32 v : graph.value(graph.find_value("w")).constant.as<f32>())
        text += fmt::format("{} ", v);
      return text;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Error::Code::internal);
      return error.what();
    }
  }

  fs::path model_folder_;
};

TEST_F(External, ReadsSlices) {
  EXPECT_EQ(import({{"location", "w.bin"}}), "0 1 2 3 ");
  EXPECT_EQ(import({{"location", "w.bin"}, {"offset", "16"}, {"length", "16"}}), "4 5 6 7 ");
  EXPECT_EQ(import({{"location", "./sub//w.bin"}, {"offset", "4"}}), "1 2 3 4 ");
}

TEST_F(External, Checksums) {
  const auto with = [&](const std::string& checksum) {
    return import({{"location", "w.bin"}, {"checksum", checksum}});
  };
  EXPECT_EQ(with(kSha1), "0 1 2 3 ");
  EXPECT_EQ(with("A00DC06E2530EE9F9D0BABF934C6CE4E590B5A0C"), "0 1 2 3 ");
  EXPECT_THAT(with("deadbeef"), HasSubstr(std::string("the SHA-1 of 'w.bin' is ") + kSha1 +
                                          ", but the model says 'deadbeef'"));
}

TEST_F(External, PathsThatLeaveTheFolder) {  // I26, I27, I31
  for (const char* location : {"../outside.bin", "sub/../../outside.bin", "/etc/hostname", "#../x",
                               "a\\b", "sub", ".", "", "sub/.."}) {
    EXPECT_THAT(import({{"location", location}}),
                HasSubstr("plain files inside the model's folder"))
        << location;
  }
  EXPECT_THAT(import({{"location", std::string("w.bin\0/etc", 10)}}),
              HasSubstr("control character"));
  EXPECT_THAT(import({{"location", std::string(1 << 20, 'a')}}), HasSubstr("too long"));
}

TEST_F(External, LinksAndSpecialFiles) {  // I28, I29
  fs::create_symlink(folder_ / "outside.bin", model_folder_ / "link.bin");
  EXPECT_THAT(import({{"location", "link.bin"}}), HasSubstr("symbolic link"));
  fs::create_directory_symlink(folder_, model_folder_ / "parent");
  EXPECT_THAT(import({{"location", "parent/outside.bin"}}), HasSubstr("symbolic link"));
  fs::create_hard_link(folder_ / "outside.bin", model_folder_ / "hard.bin");
  EXPECT_THAT(import({{"location", "hard.bin"}}), HasSubstr("hard link"));
  ASSERT_EQ(::mkfifo((model_folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(import({{"location", "fifo"}}), HasSubstr("not a regular file"));
}

TEST_F(External, ARootAllowsLinksThatStayInside) {
  fs::create_symlink("../outside.bin", model_folder_ / "link.bin");
  EXPECT_EQ(import({{"location", "link.bin"}}, folder_), "0 1 2 3 ");
  EXPECT_THAT(import({{"location", "link.bin"}}, model_folder_), HasSubstr("outside"));
  EXPECT_THAT(import({{"location", "gone.bin"}}, folder_), HasSubstr("is missing"));
}

TEST_F(External, Numbers) {  // I30
  const auto with = [&](const char* key, const std::string& value) {
    return import({{"location", "w.bin"}, {key, value}});
  };
  EXPECT_THAT(with("offset", "999999999"),
              HasSubstr("offset 999999999 of 'w.bin', which has 32 bytes"));
  EXPECT_THAT(with("offset", "20"), HasSubstr("which has 32 bytes"));
  EXPECT_THAT(with("offset", "-16"), HasSubstr("offset '-16'"));
  EXPECT_THAT(with("offset", "abc"), HasSubstr("offset 'abc'"));
  EXPECT_THAT(with("offset", "9223372036854775807"), HasSubstr("which has 32 bytes"));
  EXPECT_THAT(with("offset", "9223372036854775808"), HasSubstr("decimal number"));
  EXPECT_THAT(with("length", "1125899906842624"),
              HasSubstr("holds 1125899906842624 bytes, its shape needs 16"));
  EXPECT_THAT(with("length", "8"), HasSubstr("holds 8 bytes, its shape needs 16"));
  EXPECT_THAT(with("colour", "8"), HasSubstr("key 'colour'"));
}

TEST_F(External, MissingFilesAreAllListed) {  // I32
  pb::ModelProto model = add_model();
  for (const char* name : {"w", "v"}) {
    pb::TensorProto& tensor = add_initializer(model, name, {4}, {});
    tensor.set_data_location(1);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(std::string("no_") + name + ".bin");
  }
  std::ofstream(model_folder_ / "m.onnx", std::ios::binary) << model.SerializeAsString();
  try {
    import_onnx(model_folder_ / "m.onnx");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'no_w.bin', 'no_v.bin'"));
    EXPECT_EQ(error.code(), Error::Code::io);
  }
}

TEST_F(External, ModelsGivenAsBytesHaveNoFolder) {
  pb::ModelProto model = add_model();
  pb::TensorProto& tensor = add_initializer(model, "w", {4}, {});
  tensor.set_data_location(1);
  auto& entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value("w.bin");
  EXPECT_IMPORT_ERROR(model, invalid_argument, "given as bytes");
  ImportOptions options;
  options.external_data_folder = model_folder_;
  EXPECT_NO_THROW(import_model(model, options));
}

TEST_F(External, ModelFilesThatCannotBeRead) {  // I01, I57
  const auto text = [](const fs::path& file) -> std::string {
    try {
      import_onnx(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::io);
      return error.what();
    }
    return "imported";
  };
  EXPECT_THAT(text(folder_), HasSubstr("folder"));
  EXPECT_THAT(text(folder_ / "none.onnx"), HasSubstr("No such file"));
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(text(folder_ / "fifo"), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace octet::test
