// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/check.h"
#include "core/folder_testing.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/kept_graph.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

Model small_model() {
  Model model;
  model.graph = parse_graph(R"(graph "small"(%x: f32[?,2]) {
    const %w: f32[2,3] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    %y: f32[?,3] = MatMul(%x, %w) name "fc" from ["/fc/Gemm"] as "f32" float_build "built without INT8"
    return %y
  })",
                            find_op);
  std::vector<f32> many(40, 0.25f);
  Node add{.op = find_op("Add"),
           .name = "add",
           .inputs = {},
           .outputs = {},
           .attrs = {},
           .origins = {},
           .decision = {}};
  const ValueId big =
      model.graph.add_constant("big weights", Tensor::of<f32>(Shape{40, 1, 1}, many));
  add.inputs = {model.graph.outputs[0], big};
  add.outputs = {model.graph.add_value("z", {Dtype::f32, Shape{40, Shape::kDynamic, 3}})};
  model.graph.outputs = add.outputs;
  model.graph.nodes.push_back(add);
  model.source = "small.onnx";
  model.producer = "a test";
  model.preprocess = Preprocess{};
  model.preprocess->mean = {0.5f, 0.25f, 0.125f};
  return model;
}

using Bytes = std::vector<std::byte>;

Model read(const Bytes& bytes) {
  // An exact-size copy, so that the address sanitizer sees one byte too many.
  auto copy = std::make_shared<Bytes>(bytes);
  copy->shrink_to_fit();
  return read_engine({copy, copy->data()}, copy->size());
}

std::string error_of(const Bytes& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.what();
    return error.what();
  }
  return "";
}

TEST(EngineFile, KeepsTheGraphWithQdq) {
  Model model = small_model();
  EXPECT_EQ(read(write_engine(model)).with_qdq, nullptr);
  Graph kept = model.graph;
  kept.name = "kept";
  model.with_qdq = std::make_shared<const KeptGraph>(std::move(kept));
  const Bytes bytes = write_engine(model);
  const Model again = read(bytes);
  EXPECT_EQ(print(again.with_qdq->graph()), print(model.with_qdq->graph()));
  EXPECT_EQ(print(again.graph), print(model.graph));
  EXPECT_EQ(write_engine(again), bytes);
  // Both graphs hold the same weights, which lie in the file once.
  model.with_qdq = nullptr;
  EXPECT_LT(bytes.size(), write_engine(model).size() + 2048);
}

TEST(EngineFile, AKeptGraphThatIsNoGraphFailsWhenItIsAskedFor) {
  Model model = small_model();
  model.with_qdq = std::make_shared<const KeptGraph>(
      []() -> Graph { fail(Error::Code::invalid_model, "no graph"); });
  EXPECT_THROW(model.with_qdq->graph(), Error);
  EXPECT_THROW(model.with_qdq->graph(), Error);
}

TEST(EngineFile, AnAttachmentComesBack) {
  Model model = small_model();
  const std::vector<u8> bytes = {1, 2, 3, 0, 255};
  model.attachment = Tensor::of<u8>(Shape{5}, bytes);
  const Model again = read(write_engine(model));
  ASSERT_TRUE(again.attachment);
  EXPECT_TRUE(std::ranges::equal(again.attachment.as<u8>(), bytes));
  EXPECT_EQ(print(again.graph), print(model.graph));
  EXPECT_FALSE(read(write_engine(small_model())).attachment);
  EXPECT_TRUE(std::ranges::equal(read_attachment(write_engine(model)).as<u8>(), bytes));
  EXPECT_FALSE(read_attachment(write_engine(small_model())));
}

class MappedEngine : public test::InFolder {
 protected:
  // Of `elements` more weights, and with a graph that is read when it is asked for.
  static Model model_of(s64 elements) {
    Model model = small_model();
    const ValueId more = model.graph.add_constant("more", Tensor(Dtype::f32, Shape{elements}));
    model.graph.outputs.push_back(more);
    model.attachment = Tensor::of<u8>(Shape{5}, std::vector<u8>{1, 2, 3, 0, 255});
    Graph kept = model.graph;
    model.with_qdq = std::make_shared<const KeptGraph>(std::move(kept));
    return model;
  }

  void overwrite(std::byte byte) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    for (u64 i = 0; i < fs::file_size(path_); ++i) file.put(static_cast<char>(byte));
  }

  const fs::path path_ = folder_ / "small.octet";
};

TEST_F(MappedEngine, IsTheOneThatIsRead) {
  for (const s64 elements : {1, 1 << 14, 1 << 16}) {
    save_engine(model_of(elements), path_);
    EXPECT_EQ(write_engine(load_mapped_engine(path_)), write_engine(load_engine(path_)))
        << elements;
  }
}

TEST_F(MappedEngine, OutlivesItsName) {
  save_engine(model_of(1 << 16), path_);
  const Bytes before = write_engine(load_engine(path_));
  const Model mapped = load_mapped_engine(path_);
  save_engine(model_of(1), path_);
  EXPECT_EQ(write_engine(mapped), before);
  EXPECT_NE(write_engine(load_mapped_engine(path_)), before);
}

// Places, sizes and texts are what they were when they were checked, whatever becomes of the file; so are constants of few bytes. What is read later is
// checked again.
TEST_F(MappedEngine, KeepsAllButLargeWeights) {
  save_engine(model_of(100), path_);
  Model before = load_engine(path_), mapped = load_mapped_engine(path_);
  overwrite(std::byte{0xff});
  EXPECT_THROW(mapped.with_qdq->graph(), Error);
  before.with_qdq = mapped.with_qdq = nullptr;
  EXPECT_EQ(write_engine(mapped), write_engine(before));
}

TEST_F(MappedEngine, LeavesLargeWeightsInTheFile) {
  save_engine(model_of(1 << 16), path_);
  const Model before = load_engine(path_), mapped = load_mapped_engine(path_);
  overwrite(std::byte{0xff});
  std::vector<std::string> in_file;
  for (ValueId id = 0; id < mapped.graph.value_count(); ++id) {
    const Tensor &now = mapped.graph.value(id).constant, &then = before.graph.value(id).constant;
    if (now && std::memcmp(now.data(), then.data(), now.bytes()) != 0)
      in_file.push_back(mapped.graph.value(id).name);
  }
  EXPECT_EQ(in_file, std::vector<std::string>{"more"});
}

TEST_F(MappedEngine, RefusesWhatReadingRefuses) {
  const auto error_of_file = [this](Model (*open)(const fs::path&)) -> std::string {
    try {
      open(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  save_engine(model_of(100), path_);
  const Bytes bytes = write_engine(load_engine(path_));
  for (size_t at = 0; at < bytes.size(); at += 7) {
    Bytes changed = bytes;
    changed[at] ^= std::byte{0x10};
    if (at % 2 == 0) changed.resize(at);
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(changed.data()),
               static_cast<std::streamsize>(changed.size()));
    const std::string error = error_of_file(load_mapped_engine);
    EXPECT_NE(error, "") << at;
    EXPECT_EQ(error, error_of_file(load_engine)) << at;
  }
}

TEST(EngineFile, RoundTripKeepsEverything) {
  const Model model = small_model();
  const Bytes bytes = write_engine(model);
  const Model loaded = read(bytes);
  EXPECT_EQ(print(loaded.graph, {.inline_elements = 1000}),
            print(model.graph, {.inline_elements = 1000}));
  EXPECT_EQ(loaded.source, model.source);
  EXPECT_EQ(loaded.producer, model.producer);
  EXPECT_EQ(loaded.preprocess, model.preprocess);
  EXPECT_EQ(write_engine(loaded), bytes);
}

TEST(EngineFile, EveryPrefixIsRefused) {
  const Bytes bytes = write_engine(small_model());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(error_of(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size))), "")
        << size << " bytes";
  }
}

TEST(EngineFile, TruncationNamesTheSection) {
  const Bytes bytes = write_engine(small_model());
  const auto cut = [&](ptrdiff_t missing) {
    return error_of(Bytes(bytes.begin(), bytes.end() - missing));
  };
  EXPECT_NE(cut(1).find("truncated at section blobs"), std::string::npos) << cut(1);
  const auto most = static_cast<ptrdiff_t>(bytes.size()) - 129;
  EXPECT_NE(cut(most).find("truncated at section manifest"), std::string::npos) << cut(most);
}

TEST(EngineFile, EverySingleBitFlipIsRefused) {
  Bytes bytes = write_engine(small_model());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1u << (bit % 8))};
    bytes[bit / 8] ^= mask;
    EXPECT_NE(error_of(bytes), "") << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(EngineFile, BytesAfterTheEndAreRefused) {
  Bytes bytes = write_engine(small_model());
  bytes.push_back(std::byte{0});
  EXPECT_NE(error_of(bytes).find("after its end"), std::string::npos);
}

TEST(EngineFile, NamesTheDamagedSection) {
  Bytes bytes = write_engine(small_model());
  u64 graph_offset = 0;
  std::memcpy(&graph_offset, bytes.data() + 32 + 32 + 8, sizeof graph_offset);
  bytes[graph_offset] ^= std::byte{1};
  EXPECT_NE(error_of(bytes).find("section graph"), std::string::npos) << error_of(bytes);
}

TEST(EngineFile, ForeignFilesAreNamed) {
  const auto text = [](std::string_view s) {
    return Bytes(reinterpret_cast<const std::byte*>(s.data()),
                 reinterpret_cast<const std::byte*>(s.data()) + s.size());
  };
  EXPECT_NE(error_of(text("ftrt and more of a plan")).find("TensorRT"), std::string::npos);
  EXPECT_NE(error_of(text("<!DOCTYPE html><html>")).find("HTML"), std::string::npos);
  EXPECT_NE(error_of({}).find("empty"), std::string::npos);
}

TEST(EngineFile, NewerFormatSaysSo) {
  Bytes bytes = write_engine(small_model());
  bytes[8] = std::byte{99};
  EXPECT_NE(error_of(bytes).find("format 99"), std::string::npos);
}

TEST(EngineFile, SavesUnderATemporaryNameAndRenames) {
  const test::TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  save_engine(small_model(), folder / "a.octet");
  save_engine(small_model(), folder / "a.octet");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  EXPECT_EQ(load_engine(folder / "a.octet").source, "small.onnx");
  EXPECT_THROW(save_engine(small_model(), folder / "no" / "such" / "a.octet"), Error);
}

TEST(EngineFile, MissingFileNamesThePath) {
  try {
    load_engine("/no/such/file.octet");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/file.octet"), std::string::npos);
  }
}

}  // namespace
}  // namespace octet
