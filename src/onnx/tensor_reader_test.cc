// SPDX-License-Identifier: Apache-2.0
#include "onnx/tensor_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/test_models.h"

namespace octet::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor read(pb::TensorProto proto) {
  ExternalData external({}, {});
  std::vector<std::string> warnings;
  return TensorReader(external, 1 << 20, warnings).read(proto);
}

std::string read_error(const pb::TensorProto& proto) {
  try {
    read(proto);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

pb::TensorProto proto_of(Dtype dtype, std::initializer_list<s64> dims) {
  pb::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(dtype_to_onnx(dtype));
  for (s64 dim : dims) proto.add_dims(dim);
  return proto;
}

TEST(TensorReader, TypedFields) {
  pb::TensorProto p = proto_of(Dtype::f32, {2});
  p.add_float_data(1.5f);
  p.add_float_data(-2);
  EXPECT_THAT(read(p).as<f32>(), ElementsAre(1.5f, -2.0f));
  p = proto_of(Dtype::f64, {1});
  p.add_double_data(0.1);
  EXPECT_THAT(read(p).as<f64>(), ElementsAre(0.1));
  p = proto_of(Dtype::s64, {1});
  p.add_int64_data(INT64_MIN);
  EXPECT_THAT(read(p).as<s64>(), ElementsAre(INT64_MIN));
  p = proto_of(Dtype::u64, {1});
  p.add_uint64_data(UINT64_MAX);
  EXPECT_THAT(read(p).as<u64>(), ElementsAre(UINT64_MAX));
  p = proto_of(Dtype::u32, {1});
  p.add_uint64_data(UINT32_MAX);
  EXPECT_THAT(read(p).as<u32>(), ElementsAre(UINT32_MAX));
}

template <class T>
void expect_from_int32(std::initializer_list<s32> stored, std::initializer_list<T> expected) {
  pb::TensorProto p = proto_of(DtypeOf<T>::value, {static_cast<s64>(stored.size())});
  for (s32 v : stored) p.add_int32_data(v);
  const Tensor tensor = read(p);
  EXPECT_THAT(tensor.as<T>(), testing::ElementsAreArray(expected));
}

TEST(TensorReader, Int32DataHoldsTheNarrowTypes) {
  expect_from_int32<s32>({INT32_MIN, INT32_MAX}, {INT32_MIN, INT32_MAX});
  expect_from_int32<s16>({-32768, 32767}, {-32768, 32767});
  expect_from_int32<u16>({0, 65535}, {0, 65535});
  expect_from_int32<s8>({-128, 127}, {-128, 127});
  expect_from_int32<u8>({0, 255}, {0, 255});
  expect_from_int32<bool>({0, 1, 2}, {false, true, true});
  pb::TensorProto p = proto_of(Dtype::f16, {2});
  p.add_int32_data(0x3c00);
  p.add_int32_data(0xc000);
  EXPECT_EQ(float(read(p).as<f16>()[0]), 1.0f);
  EXPECT_EQ(float(read(p).as<f16>()[1]), -2.0f);
  p.set_data_type(dtype_to_onnx(Dtype::bf16));
  p.set_int32_data(0, 0x3f80);
  EXPECT_EQ(float(read(p).as<bf16>()[0]), 1.0f);
}

TEST(TensorReader, RawData) {
  pb::TensorProto p = proto_of(Dtype::s16, {2});
  p.set_raw_data(std::string("\x01\x02\xff\xff", 4));
  EXPECT_THAT(read(p).as<s16>(), ElementsAre(0x0201, -1));
  p = proto_of(Dtype::boolean, {3});
  p.set_raw_data(std::string("\x00\x01\xfe", 3));
  const Tensor bools = read(p);
  EXPECT_THAT(bools.as<bool>(), ElementsAre(false, true, true));
  EXPECT_EQ(static_cast<int>(bools.data()[2]),
            1);  // a bool of another value is undefined behaviour
}

TEST(TensorReader, ScalarsAndEmptyTensors) {
  pb::TensorProto p = proto_of(Dtype::f32, {});
  p.add_float_data(3);
  EXPECT_EQ(read(p).shape().rank(), 0);
  p = proto_of(Dtype::f32, {0, 5});
  EXPECT_EQ(read(p).elements(), 0);
  EXPECT_TRUE(read(p));
}

TEST(TensorReaderError, SizesBothNamed) {  // I18, I19, I20
  pb::TensorProto p = proto_of(Dtype::f32, {1});
  p.set_raw_data(std::string(4000, 'A'));
  EXPECT_THAT(read_error(p), HasSubstr("raw_data holds 4000 bytes, shape 1 of f32 needs 4"));
  p = proto_of(Dtype::f32, {64, 64});
  p.set_raw_data(std::string(16, 'A'));
  EXPECT_THAT(read_error(p), HasSubstr("holds 16 bytes, shape 64x64 of f32 needs 16384"));
  p = proto_of(Dtype::f64, {50, 50});
  p.add_double_data(1);
  EXPECT_THAT(read_error(p), HasSubstr("double_data holds 1 elements, shape 50x50 needs 2500"));
  EXPECT_THAT(read_error(p), HasSubstr("reading tensor 't'"));
}

TEST(TensorReaderError, Dimensions) {  // I21, I22, I23
  EXPECT_THAT(read_error(proto_of(Dtype::f32, {-4})), HasSubstr("negative dimension -4"));
  EXPECT_THAT(read_error(proto_of(Dtype::f32, {s64{1} << 32, s64{1} << 32})),
              HasSubstr("overflows"));
  EXPECT_THAT(read_error(proto_of(Dtype::f32, {4194305, 4194305, 211106198978564})),
              HasSubstr("overflows"));
  EXPECT_THAT(read_error(proto_of(Dtype::f32, {s64{1} << 61})), HasSubstr("overflows"));
  EXPECT_THAT(read_error(proto_of(Dtype::f32, {65537, 65536})), HasSubstr("needs 4295032832"));
  EXPECT_THAT(read_error(proto_of(Dtype::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1})),
              HasSubstr("8 dimensions"));
}

TEST(TensorReaderError, Types) {  // I24
  const auto error_of = [](s32 data_type) {
    pb::TensorProto p = proto_of(Dtype::f32, {1});
    p.set_data_type(data_type);
    return read_error(p);
  };
  EXPECT_THAT(error_of(0), HasSubstr("UNDEFINED"));
  EXPECT_THAT(error_of(999), HasSubstr("unknown type 999"));
  EXPECT_THAT(error_of(-1), HasSubstr("unknown type -1"));
  EXPECT_THAT(error_of(14), HasSubstr("COMPLEX64"));
  EXPECT_THAT(error_of(8), HasSubstr("STRING"));
}

// 4-bit and 2-bit elements share bytes, and the last byte may be padded.
TEST(TensorReaderError, PackedSizes) {  // I25
  for (const auto& [data_type, needed] : {std::pair{22, 3}, {25, 2}, {17, 5}, {23, 3}}) {
    for (int bytes = 0; bytes <= 6; ++bytes) {
      pb::TensorProto raw = proto_of(Dtype::f32, {5});
      raw.set_data_type(data_type);
      pb::TensorProto field = raw;
      raw.set_raw_data(std::string(static_cast<size_t>(bytes), '\x11'));
      for (int i = 0; i < bytes; ++i) field.add_int32_data(0x11);
      for (pb::TensorProto* proto : {&raw, &field}) {
        if (bytes == needed) {
          EXPECT_EQ(read(*proto).bytes(), 5u) << data_type;
        } else {
          EXPECT_THAT(read_error(*proto), HasSubstr("needs")) << data_type << " " << bytes;
        }
      }
    }
  }
  pb::TensorProto wide = proto_of(Dtype::f32, {1});
  wide.set_data_type(21);
  wide.add_int32_data(256);
  EXPECT_THAT(read_error(wide), HasSubstr("no byte"));
}

TEST(TensorReaderError, ValuesOutOfRange) {
  pb::TensorProto p = proto_of(Dtype::u8, {1});
  p.add_int32_data(256);
  EXPECT_THAT(read_error(p), HasSubstr("holds 256, which does not fit u8"));
  p = proto_of(Dtype::f16, {1});
  p.add_int32_data(-1);
  EXPECT_THAT(read_error(p), HasSubstr("no 16-bit pattern"));
  p = proto_of(Dtype::f32, {1});
  p.set_segment("x");
  EXPECT_THAT(read_error(p), HasSubstr("segments"));
}

pb::ModelProto sparse_model(std::initializer_list<s64> indices,
                            std::initializer_list<s64> indices_dims) {
  pb::ModelProto model = empty_model();
  pb::SparseTensorProto& sparse = *model.mutable_graph()->add_sparse_initializer();
  *sparse.mutable_values() = proto_of(Dtype::f32, {2});
  sparse.mutable_values()->set_name("w");
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_values()->add_float_data(7);
  *sparse.mutable_indices() = proto_of(Dtype::s64, indices_dims);
  for (s64 i : indices) sparse.mutable_indices()->add_int64_data(i);
  sparse.add_dims(2);
  sparse.add_dims(2);
  add_output(model, "w");
  return model;
}

TEST(TensorReader, SparseTensorsBecomeDense) {
  for (const pb::ModelProto& model :
       {sparse_model({1, 2}, {2}), sparse_model({0, 1, 1, 0}, {2, 2})}) {
    const Graph graph = import_model(model);
    EXPECT_THAT(graph.value(graph.outputs[0]).constant.as<f32>(), ElementsAre(0, 5, 7, 0));
  }
}

TEST(TensorReaderError, TwoPayloads) {
  pb::TensorProto p = proto_of(Dtype::f32, {1});
  p.add_float_data(1);
  p.set_raw_data("\0\0\0\0", 4);
  EXPECT_THAT(read_error(p), HasSubstr("its elements twice: in raw_data and in float_data"));
  p.clear_raw_data();
  p.add_int64_data(1);
  EXPECT_THAT(read_error(p), HasSubstr("its elements twice: in float_data and in int64_data"));
  p.clear_int64_data();
  p.set_data_location(1);
  EXPECT_THAT(read_error(p), HasSubstr("its elements twice: in external_data and in float_data"));
}

TEST(TensorReaderError, SparseIndices) {  // I55
  EXPECT_IMPORT_ERROR(sparse_model({1, 1}, {2}), invalid_model, "none may come twice; number 1");
  EXPECT_IMPORT_ERROR(sparse_model({2, 1}, {2}), invalid_model, "sparse indices must ascend");
  EXPECT_IMPORT_ERROR(sparse_model({1, 0, 0, 1}, {2, 2}), invalid_model, "must ascend");
  EXPECT_IMPORT_ERROR(sparse_model({1, 4}, {2}), invalid_model, "sparse index 4 is outside 0..3");
  EXPECT_IMPORT_ERROR(sparse_model({1, -1}, {2}), invalid_model, "sparse index -1");
  EXPECT_IMPORT_ERROR(sparse_model({0, 0, 2, 0}, {2, 2}), invalid_model,
                      "sparse index 2 is outside 0..1");
  EXPECT_IMPORT_ERROR(sparse_model({1, 2, 3}, {3}), invalid_model, "2] values");
}

}  // namespace
}  // namespace octet::test
