// SPDX-License-Identifier: Apache-2.0
// What oneDNN refuses to run is an Error of the run, on any number of threads, never the end of the process.
#include "backends/cpu/lower/f_dnnl.h"

#include <gtest/gtest.h>

#include "backends/cpu/lower/dnnl_api.h"
#include "backends/host/queue.h"
#include "core/check.h"

namespace octet {
namespace {

using Desc = dnnl::memory::desc;
constexpr auto kF32 = dnnl::memory::data_type::f32;
constexpr s64 kRows = 4, kSize = 8;

dnnl::matmul::primitive_desc product_desc(bool bias) {
  const auto matrix = [](s64 rows, s64 columns) {
    return Desc({rows, columns}, kF32, dnnl::memory::format_tag::ab);
  };
  const SingleThread guard;
  return dnnl_matrix_product({matrix(kRows, kSize), matrix(kSize, kSize),
                              bias ? matrix(1, kSize) : Desc(), matrix(kRows, kSize)},
                             product_attributes({}, false), dnnl_engine());
}

// `broken` slices miss an argument that their code reads.
DnnlProduct product_of(int slices, int broken) {
  DnnlProduct product;
  for (int i = 0; i < slices; ++i) {
    const auto code = product_desc(i < broken);
    product.slices.emplace_back(dnnl::primitive(code.get()), product_desc(false),
                                DnnlSlice::Place{});
  }
  return product;
}

struct Operands {
  Tensor x{Dtype::f32, {kRows, kSize}}, w{Dtype::f32, {kSize, kSize}},
      y{Dtype::f32, {kRows, kSize}};
  Tensor scratchpad{Dtype::u8, {1 << 16}};
};

void run(const DnnlProduct& product, int threads) {
  Operands o;
  const std::byte* inputs[] = {o.x.data(), o.w.data()};
  std::byte* outputs[] = {o.y.mutable_data()};
  HostQueue queue(threads);
  product({inputs, outputs, o.scratchpad.mutable_data(), queue});
}

TEST(Dnnl, AFailingSliceIsAnError) {
  for (int threads : {1, 3}) {
    for (int broken : {1, 3}) {
      try {
        run(product_of(3, broken), threads);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Error::Code::internal);
        EXPECT_NE(std::string(error.what()).find("oneDNN could not run a layer"),
                  std::string::npos);
      }
    }
  }
}

TEST(Dnnl, WholeSlicesRun) { run(product_of(3, 0), 2); }

}  // namespace
}  // namespace octet
