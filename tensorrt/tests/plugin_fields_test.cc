// SPDX-License-Identifier: Apache-2.0
// What a creator gets of the attributes of a model's node: their own types, or the declared ones of the same kind, exactly.
#include "model_bytes.h"
#include "plugin_support.h"

namespace trt_test::fields_of_plugins {
namespace {

using Type = PluginFieldType;

// AttributeProto.AttributeType
constexpr uint64_t kFloatType = 1, kIntType = 2, kStringType = 3, kTensorType = 4, kGraphType = 5,
                   kFloatsType = 6, kIntsType = 7, kStringsType = 8;

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

std::string attribute(const std::string& name, const std::string& value, uint64_t type) {
  return text(5, text(1, name) + value + (type == 0 ? "" : number(20, type)));
}

std::string ints(std::initializer_list<int64_t> values) {
  std::string out;
  for (const int64_t value : values) out += number(8, static_cast<uint64_t>(value));
  return out;
}

std::string floats(std::initializer_list<float> values) { return text(7, bytes_of(values)); }

std::string tensor(uint64_t type, uint64_t elements, const std::string& raw) {
  return text(5, number(1, elements) + number(2, type) + text(9, raw));
}

struct Kept {
  std::string name, bytes;
  Type type;
  int32_t length;
};

size_t bytes_of_type(Type type) {
  if (type == Type::kDIMS) return sizeof(Dims);
  if (type == Type::kFLOAT64) return 8;
  if (type == Type::kFLOAT32 || type == Type::kINT32) return 4;
#if NV_TENSORRT_MAJOR >= 10
  if (type == Type::kINT64) return 8;
  if (type == Type::kBF16) return 2;
#endif
  return type == Type::kFLOAT16 || type == Type::kINT16 ? 2 : 1;
}

// Declares what a test says and keeps what it is given.
class KeepingCreator : public FactorCreator {
 public:
  char const* getPluginName() const override { return "Fields_TEST"; }
  PluginFieldCollection const* getFieldNames() override {
    all_ = {static_cast<int32_t>(declared.size()), declared.data()};
    return &all_;
  }
  IPluginV2* createPlugin(char const*, PluginFieldCollection const* fields) override {
    kept.clear();
    for (int32_t i = 0; i < fields->nbFields; ++i) {
      const PluginField& field = fields->fields[i];
      const size_t size = static_cast<size_t>(field.length) * bytes_of_type(field.type);
      kept.push_back({field.name, std::string(static_cast<const char*>(field.data), size),
                      field.type, field.length});
    }
    return new FactorPlugin(1, 1);
  }

  std::vector<PluginField> declared;
  std::vector<Kept> kept;

 private:
  PluginFieldCollection all_{};
};

class PluginFields : public FactorTest {
 protected:
  PluginFields() { EXPECT_TRUE(getPluginRegistry()->registerCreator(creator, "")); }
  ~PluginFields() override { EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator)); }

  // Of a node with these attributes; what the log says is in `said`.
  bool parses(const std::string& attributes) {
    Maker maker;
    const Own<nvonnxparser::IParser> parser(
        nvonnxparser::createParser(*maker.network, maker.logger));
    const std::string version = attribute("plugin_version", text(4, "2"), kStringType);
    const std::string model = model_of_node(node("Fields_TEST", {"x"}, "y", version + attributes));
    const bool done = parser->parse(model.data(), model.size());
    said = maker.logger.text;
    EXPECT_EQ(parser->getNbErrors(), done ? 0 : 1);
    return done;
  }
  // The one field of an attribute that is declared as this type.
  void expect_field(const std::string& value, uint64_t type, const PluginField& declared,
                    const Kept& wanted) {
    creator.declared = {declared};
    creator.declared[0].name = "a";
    ASSERT_TRUE(parses(attribute("a", value, type))) << said;
    ASSERT_EQ(creator.kept.size(), 1U);
    EXPECT_EQ(creator.kept[0].type, wanted.type);
    EXPECT_EQ(creator.kept[0].length, wanted.length);
    EXPECT_EQ(creator.kept[0].bytes, wanted.bytes);
  }

  KeepingCreator creator;
  std::string said;
};

PluginField declared(Type type, int32_t length = 1) { return {nullptr, nullptr, type, length}; }

template <class T>
Kept kept(Type type, std::initializer_list<T> values) {
  return {"a", bytes_of(values), type, static_cast<int32_t>(values.size())};
}

TEST_F(PluginFields, AreOfTheDeclaredTypeWhereItHoldsTheNumbers) {
  const std::string two = number(3, 2);
  expect_field(two, kIntType, declared(Type::kINT32), kept<int32_t>(Type::kINT32, {2}));
  expect_field(two, kIntType, declared(Type::kINT16), kept<int16_t>(Type::kINT16, {2}));
  expect_field(two, kIntType, declared(Type::kINT8), kept<int8_t>(Type::kINT8, {2}));
  expect_field(ints({-3, 4}), kIntsType, declared(Type::kINT8, 2),
               kept<int8_t>(Type::kINT8, {-3, 4}));
  expect_field(floats({0.1F, 2}), kFloatsType, declared(Type::kFLOAT64, 2),
               kept<double>(Type::kFLOAT64, {0.1F, 2}));
  expect_field(real(2, 0.5F), kFloatType, declared(Type::kFLOAT16),
               kept<uint16_t>(Type::kFLOAT16, {0x3800}));
  expect_field(text(4, "edge"), kStringType, declared(Type::kCHAR),
               kept<char>(Type::kCHAR, {'e', 'd', 'g', 'e'}));
  expect_field(text(9, "a") + text(9, "bc"), kStringsType, declared(Type::kCHAR),
               kept<char>(Type::kCHAR, {'a', 0, 'b', 'c', 0}));
#if NV_TENSORRT_MAJOR >= 10
  const int64_t large = (int64_t{1} << 40) + 1;
  expect_field(ints({large}), kIntsType, declared(Type::kINT64), kept(Type::kINT64, {large}));
  expect_field(real(2, 1), kFloatType, declared(Type::kBF16),
               kept<uint16_t>(Type::kBF16, {0x3f80}));
#endif
  EXPECT_EQ(said, "");
}

TEST_F(PluginFields, MayBeSizes) {
  creator.declared = {{"a", nullptr, Type::kDIMS, 1}};
  ASSERT_TRUE(parses(attribute("a", ints({3, 1, 224}), kIntsType))) << said;
  ASSERT_EQ(creator.kept.size(), 1U);
  EXPECT_EQ(creator.kept[0].type, Type::kDIMS);
  EXPECT_EQ(creator.kept[0].length, 1);
  Dims dims{};
  std::memcpy(&dims, creator.kept[0].bytes.data(), sizeof dims);
  EXPECT_EQ(sizes_of(dims), (std::vector<int64_t>{3, 1, 224}));
}

TEST_F(PluginFields, OfTensorsAreTheirElements) {
  const auto doubles = tensor(11, 2, bytes_of<double>({0.5, 1e300}));
  expect_field(doubles, kTensorType, declared(Type::kFLOAT64, 2),
               kept<double>(Type::kFLOAT64, {0.5, 1e300}));
  expect_field(tensor(10, 1, bytes_of<uint16_t>({0x3800})), kTensorType, declared(Type::kFLOAT32),
               kept<float>(Type::kFLOAT32, {0.5F}));
  expect_field(tensor(7, 2, bytes_of<int64_t>({5, -6})), kTensorType, declared(Type::kINT32, 2),
               kept<int32_t>(Type::kINT32, {5, -6}));
  expect_field(tensor(5, 1, bytes_of<int16_t>({-7})), kTensorType, declared(Type::kUNKNOWN),
               kept<int16_t>(Type::kINT16, {-7}));
  expect_field(tensor(1, 1, bytes_of<float>({7})), kTensorType, declared(Type::kUNKNOWN),
               kept<float>(Type::kFLOAT32, {7}));
  EXPECT_EQ(said, "");
}

TEST_F(PluginFields, OfAnotherKindThanDeclaredAreTheAttributesOwnAndTheLogSaysSoOnce) {
  const struct {
    std::string value;
    uint64_t type;
    PluginField asked;
    Kept wanted;
    std::string said;
  } cases[] = {
      {real(2, 2.7F), kFloatType, declared(Type::kINT32), kept<float>(Type::kFLOAT32, {2.7F}),
       "is FLOAT (kFLOAT32), and its plugin's creator declares kINT32: the field is kFLOAT32"},
      {real(2, std::nanf("")), kFloatType, declared(Type::kINT8),
       kept<float>(Type::kFLOAT32, {std::nanf("")}), "declares kINT8: the field is kFLOAT32"},
      {number(3, 2), kIntType, declared(Type::kFLOAT32), kept<int32_t>(Type::kINT32, {2}),
       "is INT (kINT32), and its plugin's creator declares kFLOAT32: the field is kINT32"},
      {ints({2, 3}), kIntsType, declared(Type::kFLOAT64, 2), kept<int32_t>(Type::kINT32, {2, 3}),
       "is INTS (kINT32), and its plugin's creator declares kFLOAT64: the field is kINT32"},
      {floats({8, 8}), kFloatsType, declared(Type::kDIMS), kept<float>(Type::kFLOAT32, {8, 8}),
       "is FLOATS (kFLOAT32), and its plugin's creator declares kDIMS: the field is kFLOAT32"},
      {tensor(11, 1, bytes_of<double>({0.1})), kTensorType, declared(Type::kINT32),
       kept<double>(Type::kFLOAT64, {0.1}),
       "is TENSOR of f64 (kFLOAT64), and its plugin's creator declares kINT32"},
  };
  for (const auto& one : cases) {
    expect_field(one.value, one.type, one.asked, one.wanted);
    const size_t first = said.find("node 'Fields_TEST_y': attribute 'a' ");
    ASSERT_NE(first, std::string::npos) << said;
    EXPECT_NE(said.find(one.said), std::string::npos) << said;
    EXPECT_EQ(said.find("attribute 'a'", first + 40), std::string::npos) << "twice:\n" << said;
  }
}

TEST_F(PluginFields, ThatWouldBeOtherNumbersAreRefused) {
  const struct {
    std::string value;
    uint64_t type;
    Type asked;
    std::string said;
  } cases[] = {
    {number(3, uint64_t{1} << 31), kIntType, Type::kINT32, "the field cannot hold 2147483648"},
    {ints({1, -32769}), kIntsType, Type::kINT16, "the field cannot hold -32769"},
    {number(3, 128), kIntType, Type::kINT8, "the field cannot hold 128"},
    {number(3, uint64_t{1} << 31), kIntType, Type::kFLOAT32, "the field cannot hold 2147483648"},
    {real(2, 0.1F), kFloatType, Type::kFLOAT16, "the field cannot hold 0.10000000149"},
    {real(2, 65536), kFloatType, Type::kFLOAT16, "the field cannot hold 65536"},
    {tensor(11, 1, bytes_of<double>({0.1})), kTensorType, Type::kFLOAT32,
     "the field cannot hold 0.1)"},
    {tensor(11, 1, bytes_of<double>({1e300})), kTensorType, Type::kFLOAT32, "cannot hold 1e+300"},
    {ints({1, 2, 3, 4, 5, 6, 7, 8, 9}), kIntsType, Type::kDIMS, "no room for its 9 sizes"},
    {text(4, "2"), kStringType, Type::kINT32,
     "is a text, and its plugin's creator declares kINT32"},
    {text(4, "2"), kStringType, Type::kDIMS, "is a text, and its plugin's creator declares kDIMS"},
    {text(9, "2"), kStringsType, Type::kFLOAT32, "is a text, and"},
    {number(3, 50), kIntType, Type::kCHAR,
     "is INT (kINT32), and its plugin's creator declares kCHAR"},
    {text(6, text(2, "g")), kGraphType, Type::kINT32,
     "is GRAPH, which is neither numbers nor a text"},
    {tensor(1, 2, bytes_of<float>({7})), kTensorType, Type::kFLOAT32,
     "is a tensor of 8 bytes, and has 4"},
    {text(7, "abc"), kFloatsType, Type::kFLOAT32, "'a' ends within a number"},
#if NV_TENSORRT_MAJOR >= 10
    {number(3, 2), kIntType, Type::kFP8, "and its plugin's creator declares kFP8"},
#endif
  };
  for (const auto& one : cases) {
    creator.declared = {{"a", nullptr, one.asked, 1}};
    EXPECT_FALSE(parses(attribute("a", one.value, one.type))) << one.said;
    EXPECT_NE(said.find(one.said), std::string::npos) << one.said << "\n" << said;
  }
}

TEST_F(PluginFields, OfNumbersThatAModelLeavesOutAreZero) {
  expect_field("", kIntType, declared(Type::kINT32), kept<int32_t>(Type::kINT32, {0}));
  expect_field("", kFloatType, declared(Type::kFLOAT32), kept<float>(Type::kFLOAT32, {0}));
  expect_field("", kFloatType, declared(Type::kFLOAT64, 4), kept<double>(Type::kFLOAT64, {0}));
  // Without a type either, a declared length of one tells that there is a number.
  expect_field("", 0, declared(Type::kFLOAT32), kept<float>(Type::kFLOAT32, {0}));
  expect_field("", 0, declared(Type::kINT16), kept<int16_t>(Type::kINT16, {0}));
  expect_field("", 0, declared(Type::kINT32, 3), kept<int32_t>(Type::kINT32, {}));
  expect_field("", kIntsType, declared(Type::kINT32), kept<int32_t>(Type::kINT32, {}));
  expect_field("", kStringType, declared(Type::kCHAR), kept<char>(Type::kCHAR, {}));
  EXPECT_EQ(said, "");
}

TEST_F(PluginFields, StandInTheDeclaredOrderWithOthersBehindThem) {
  creator.declared = {{"b", nullptr, Type::kFLOAT32, 1}, {"a", nullptr, Type::kINT32, 1}};
  const std::string others = attribute("seed", number(3, uint64_t{1} << 40), kIntType) +
                             attribute("body", text(6, text(2, "g")), kGraphType);
  ASSERT_TRUE(parses(attribute("more", number(3, 9), kIntType) + others +
                     attribute("a", number(3, 1), kIntType) +
                     attribute("b", real(2, 2), kFloatType)))
      << said;
  std::string names;
  for (const Kept& field : creator.kept) names += field.name + " ";
  EXPECT_EQ(names, "b a more ");
  for (const char* name : {"'seed' is INT (kINT32)", "'body' is GRAPH"}) {
    EXPECT_NE(said.find(std::string("attribute ") + name +
                        ", which its plugin's creator does not declare and no field can hold: it "
                        "is left out"),
              std::string::npos)
        << said;
  }
}

TEST_F(PluginFields, AreReadAsWiderTypesWithoutLeavingMemory) {
  creator.declared = {{"a", nullptr, Type::kDIMS, 1}};
  ASSERT_TRUE(parses(attribute("a", floats({1}), kFloatsType)));
  // What a creator that never looks at the type would read; the sanitizers see it.
  class Careless : public KeepingCreator {
   public:
    char const* getPluginVersion() const override { return "3"; }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* fields) override {
      std::memcpy(&read, fields->fields[0].data, sizeof read);
      return new FactorPlugin(1, 1);
    }
    Dims read{};
  } careless;
  careless.declared = creator.declared;
  EXPECT_TRUE(getPluginRegistry()->registerCreator(careless, ""));
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  const std::string model =
      model_of_node(node("Fields_TEST", {"x"}, "y",
                         attribute("plugin_version", text(4, "3"), kStringType) +
                             attribute("a", floats({1}), kFloatsType)));
  EXPECT_TRUE(parser->parse(model.data(), model.size())) << maker.logger.text;
  EXPECT_EQ(careless.read.d[0], 0);  // behind the number there are zeros
  EXPECT_TRUE(getPluginRegistry()->deregisterCreator(careless));
}

}  // namespace
}  // namespace trt_test::fields_of_plugins
