// SPDX-License-Identifier: Apache-2.0
#include "onnx/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "onnx/test_models.h"

namespace octet::test {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

// Success or one Error that is not our own bug; returns its text.
std::string import_text(const std::string& bytes) {
  try {
    import_onnx(as_bytes(bytes));
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.what();
    return error.what();
  }
  return "imported";
}

// A model with something of everything.
std::string small_model() {
  pb::ModelProto model = add_model();
  add_initializer(model, "w", {4}, {1, 2, 3, 4});
  pb::NodeProto& relu = add_node(model, "LeakyRelu", {"y"}, {"z"});
  relu.set_name("leak");
  add_attribute(relu, "alpha", AttrKind::f).set_f(0.5f);
  auto& constant = add_attribute(add_node(model, "Constant", {}, {"c"}), "value", AttrKind::t);
  constant.mutable_t()->set_data_type(dtype_to_onnx(Dtype::s64));
  constant.mutable_t()->set_raw_data(std::string(8, '\1'));
  add_output(model, "z");
  add_output(model, "c");
  return model.SerializeAsString();
}

TEST(Wire, EveryPrefix) {  // I02
  const std::string model = small_model();
  ASSERT_EQ(import_text(model), "imported");
  size_t named = 0;
  for (size_t length = 0; length < model.size(); ++length) {
    const std::string text = import_text(model.substr(0, length));
    named += text.find("truncated or corrupt protobuf at byte") != text.npos;
    // Whatever parses although cut still lacks something that is named.
    EXPECT_NE(text, "imported") << length;
  }
  EXPECT_GT(named, model.size() / 2);
}

TEST(Wire, EveryBitFlip) {
  const std::string model = small_model();
  for (size_t bit = 0; bit < model.size() * 8; ++bit) {
    std::string flipped = model;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    import_text(flipped);
  }
}

TEST(Wire, RandomBytes) {  // I03
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(64 + random() % 4096, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::string text = import_text(bytes);
    EXPECT_THAT(text, testing::AnyOf(HasSubstr("not an ONNX model"), HasSubstr("corrupt"),
                                     HasSubstr("no graph")));
  }
}

TEST(Wire, RandomEditsOfAModel) {
  const std::string model = small_model();
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string edited = model;
    for (u32 edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % edited.size();
      switch (random() % 3) {
        case 0:
          edited[at] = static_cast<char>(random());
          break;
        case 1:
          edited.erase(at, 1 + random() % 8);
          break;
        default:
          edited.insert(at, edited.substr(random() % edited.size(), random() % 16));
          break;
      }
    }
    import_text(edited);
  }
}

TEST(Wire, LengthsPastTheEnd) {  // I04, I05
  EXPECT_THAT(import_text("\x3a\xff\xff\xff\xff\x07"
                          "abc"),
              HasSubstr("field 7 declares 2147483647 bytes, 3 are left"));
  EXPECT_THAT(import_text("\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
                          "abc"),
              HasSubstr("declares 9223372036854775808 bytes, 3 are left"));
  EXPECT_THAT(import_text("\x08" + std::string(20, '\xff') + "\x01"),
              HasSubstr("more than 64 bits"));
  EXPECT_THAT(import_text("\x08\x08\x3b"), HasSubstr("unknown wire type"));
  EXPECT_THAT(import_text(""), HasSubstr("empty (0 bytes)"));
}

std::string wrapped(int field, const std::string& payload) {
  std::string bytes(1, static_cast<char>(field << 3 | 2));
  for (size_t n = payload.size();; n >>= 7) {
    bytes += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
    if (n <= 127) break;
  }
  return bytes + payload;
}

TEST(Wire, Nesting) {  // I06, I07
  const auto subgraphs = [](int depth) {
    std::string graph;
    for (int i = 0; i < depth; ++i) graph = wrapped(1, wrapped(5, wrapped(6, graph)));
    return "\x08\x08" + wrapped(7, graph) + wrapped(8, "\x10\x0d");
  };
  const auto types = [](int depth) {
    std::string type = wrapped(1, "\x08\x01");
    for (int i = 0; i < depth; ++i) type = wrapped(4, wrapped(1, type));
    return "\x08\x08" + wrapped(7, wrapped(11, wrapped(1, "x") + wrapped(2, type)));
  };
  for (int depth : {40, 5000}) {
    EXPECT_THAT(import_text(subgraphs(depth)), HasSubstr("nested deeper than 100"));
    EXPECT_THAT(import_text(types(depth + 20)), HasSubstr("nested deeper than 100"));
  }
  EXPECT_THAT(import_text(subgraphs(20)), testing::Not(HasSubstr("nested")));
}

TEST(Wire, MemoryOfManyEmptyMessagesIsCounted) {
  // Two bytes of file for each node, a hundred and more in memory.
  const std::string bytes = "\x08\x08" + wrapped(7, [] {
                              std::string nodes;
                              for (int i = 0; i < 1000; ++i) nodes += std::string("\x0a\0", 2);
                              return nodes;
                            }());
  EXPECT_GT(scan_model(as_bytes(bytes)), 1000 * static_cast<s64>(sizeof(pb::NodeProto)));
}

TEST(Wire, MemoryOfPackedNumbersIsCounted) {
  const std::string numbers(1000, '\1');
  const auto in_node = [](const std::string& attribute) {
    return "\x08\x08" + wrapped(7, wrapped(1, wrapped(5, attribute)));
  };
  const auto in_tensor = [](const std::string& tensor) {
    return "\x08\x08" + wrapped(7, wrapped(5, tensor));
  };
  for (const std::string& model :
       {in_node(wrapped(8, numbers)), in_tensor(wrapped(1, numbers)),
        in_tensor(wrapped(7, numbers)), in_tensor(wrapped(5, numbers))}) {
    EXPECT_GT(scan_model(as_bytes(model)), 8000);
  }
}

}  // namespace
}  // namespace octet::test
