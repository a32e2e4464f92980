// SPDX-License-Identifier: Apache-2.0
// What is a race on a GPU gives other bytes, or an error, on the emulated one.
#include <numeric>

#include "gpu.h"

namespace octet::emulator {
namespace {

std::vector<int> run(const std::string& source, CUlaunchConfig config, size_t values) {
  const Kernel kernel(source);
  std::vector<int> counted(values);
  std::iota(counted.begin(), counted.end(), 0);
  const Buffer<int> in(counted), out(values);
  EXPECT_EQ(kernel.launch(config, Pointers{in.pointer(), out.pointer()}), 0);
  return out.read();
}

// Each thread reads what another wrote.
std::string turned(const std::string& barrier, const std::string& other) {
  return simple("__shared__ s32 kept[128]; const s32 t = threadIdx.x;\nkept[t] = in[t];\n" +
                barrier + "out[t] = kept[" + other + "];\n" + "__syncthreads();\n");
}

TEST(EmulatedRaces, ThreadsRunInNoOrder) {
  for (const char* other : {"127 - t", "(t + 1) % 128", "(t + 127) % 128", "t ^ 32"}) {
    const std::vector<int> waits = run(turned("__syncthreads();\n", other), shape(1, 128), 128);
    const std::vector<int> races = run(turned("", other), shape(1, 128), 128);
    EXPECT_EQ(std::accumulate(waits.begin(), waits.end(), 0), 127 * 64) << other;
    EXPECT_NE(waits, races) << other;
  }
}

TEST(EmulatedRaces, BlocksRunInNoOrder) {
  const std::vector<int> values =
      run(simple("out[32 + blockIdx.x] = blockIdx.x == 0 ? 0 : out[31 + blockIdx.x] + 1;\n"),
          shape(32, 1), 64);
  EXPECT_NE(values[63], 31);
}

std::string copied(const std::string& wait) {
  return simple(
      "__shared__ __align__(16) s32 kept[8];\n"
      "for (s32 i = 0; i < 2; ++i) { copy_async16(kept + 4 * i, in + 4 * i); copy_async_commit(); "
      "}\n" +
      wait + "for (s32 i = 0; i < 8; ++i) out[i] = kept[i];\n");
}

TEST(EmulatedRaces, CopiesComeWhenTheyAreWaitedFor) {
  constexpr int kNothing = static_cast<int>(0xA5A5A5A5);
  const auto values = [](const char* wait) { return run(copied(wait), shape(1, 1), 8); };
  EXPECT_EQ(values("copy_async_wait<0>();\n"), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  const std::vector<int> first = values("copy_async_wait<1>();\n");
  EXPECT_EQ(first[3], 3);
  EXPECT_EQ(first[4], kNothing);
  EXPECT_EQ(values("")[0], kNothing);
}

// A warp's 16 rows of 32 codes, all 1, by 64 columns, all 2.
std::string product(const std::string& before_wait, const std::string& wait,
                    const std::string& publish = "publish_shared();\n") {
  return simple(
      R"(
    u8* const shared = emulated.shared;
    for (s32 i = threadIdx.x; i < 4096; i += 128) shared[i] = i < 2048 ? 1 : 2;
)" + publish +
          R"(
    __syncthreads();
    s32 d[32] = {};
    products_begin();
    product<false>(d, operand<32>(0), operand<32>(2048), 0);
    products_end();
)" + before_wait +
          wait +
          R"(
    out[threadIdx.x] = d[5];
    products_wait<0>();
)",
      "struct TensorMap;\n// Begin of Hopper's instructions.\n// End of Hopper's instructions.\n");
}

TEST(EmulatedRaces, ProductsReadAndWriteUntilTheyAreWaitedFor) {
  const CUlaunchConfig one = shape(1, 128, 4096);
  const std::string wait = "products_wait<0>();\n";
  EXPECT_EQ(run(product("", wait), one, 128), std::vector<int>(128, 64));
  EXPECT_EQ(run(product("", ""), one, 128), std::vector<int>(128, 0));
  EXPECT_NE(run(product("shared[2048 + threadIdx.x * 16] = 9;\n", wait), one, 128),
            std::vector<int>(128, 64));
}

TEST(EmulatedRaces, ProductsReadWhatThreadsPublished) {
  const CUlaunchConfig one = shape(1, 128, 4096);
  const auto values = [&](const char* publish) {
    return run(product("", "products_wait<0>();\n", publish), one, 128);
  };
  EXPECT_EQ(values("publish_shared();\n"), std::vector<int>(128, 64));
  EXPECT_NE(values(""), std::vector<int>(128, 64));
  EXPECT_NE(values("publish_shared();\n__syncthreads();\nshared[2048 + threadIdx.x * 16] = 9;\n"),
            std::vector<int>(128, 64));
}

CUresult run_behind_another(const std::string& body, bool programmatic) {
  const Kernel first(simple("out[threadIdx.x] = 7;\n")), second(simple(body));
  const Buffer<int> between(64), out(64);
  CUlaunchAttribute attribute{};
  attribute.id = cuda::kLaunchProgrammaticDependent;
  attribute.value.flag = 1;
  CUlaunchConfig config = shape(2, 64);
  if (programmatic) config.attrs = &attribute, config.numAttrs = 1;
  EXPECT_EQ(first.launch(shape(1, 64), Pointers{nullptr, between.pointer()}), 0);
  EXPECT_EQ(second.launch(config, Pointers{between.pointer(), out.pointer()}), 0);
  return gpu().cuStreamSynchronize(nullptr);
}

TEST(EmulatedRaces, KernelsThatBeginEarlyWait) {
  const char* waits = "wait_for_predecessor();\nout[threadIdx.x] = in[threadIdx.x];\n";
  EXPECT_EQ(run_behind_another(waits, true), 0);
  // One thread waits, and tells the others.
  EXPECT_EQ(run_behind_another("if (threadIdx.x == 9) wait_for_predecessor();\n__syncthreads();\n"
                               "out[threadIdx.x] = in[threadIdx.x];\n",
                               true),
            0);
  const char* reads = "const s32 x = in[threadIdx.x];\nwait_for_predecessor();\nout[0] = x;\n";
  EXPECT_EQ(run_behind_another(reads, false), 0);
  const auto fails = [](const char* body) {
    std::exit(run_behind_another(body, true) == 700 ? 7 : 0);
  };
  EXPECT_EXIT(fails(reads), testing::ExitedWithCode(7), "before it waits");
  EXPECT_EXIT(fails("out[threadIdx.x] = 1;\nwait_for_predecessor();\n"), testing::ExitedWithCode(7),
              "before it waits");
  EXPECT_EXIT(fails("if (threadIdx.x == 9) wait_for_predecessor();\nout[threadIdx.x] = 1;\n"),
              testing::ExitedWithCode(7), "before it waits");
}

}  // namespace
}  // namespace octet::emulator
