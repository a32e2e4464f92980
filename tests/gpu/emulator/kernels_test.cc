// SPDX-License-Identifier: Apache-2.0
// Kernels on the emulated GPU compute what they compute on a GPU.
#include <numeric>
#include <random>

#include "gpu.h"

namespace octet::emulator {
namespace {

std::vector<int> counted(size_t size) {
  std::vector<int> values(size);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

template <class T>
std::vector<T> random_values(size_t size) {
  std::mt19937 random(7);
  std::vector<T> values(size);
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

std::vector<int> run(const std::string& source, const std::vector<int>& in, size_t out,
                     CUlaunchConfig config) {
  const Kernel kernel(source);
  const Buffer<int> input(in), output(out);
  EXPECT_EQ(kernel.launch(config, Pointers{input.pointer(), output.pointer()}), 0);
  return output.read();
}

TEST(EmulatedGpu, MovesElements) {
  const Kernel kernel(
      simple("const s32 step = gridDim.x * blockDim.x;\n"
             "for (s32 i = blockIdx.x * blockDim.x + threadIdx.x; i < 35; i += step)\n"
             "  out[i % 7 * 5 + i / 7] = in[i];\n"));
  const Buffer<int> in(counted(35)), out(35);
  ASSERT_EQ(kernel.launch(shape(2, 8), Pointers{in.pointer(), out.pointer()}), 0);
  const std::vector<int> values = out.read();
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 7; ++column)
      EXPECT_EQ(values[static_cast<size_t>(column * 5 + row)], row * 7 + column);
}

TEST(EmulatedGpu, DefinesReachTheSource) {
  const Kernel kernel(simple("out[0] = FIRST + SECOND;\n"), {"-DFIRST=40", "-D", "SECOND=2"});
  const Buffer<int> out(1);
  ASSERT_EQ(kernel.launch(shape(1, 1), Pointers{nullptr, out.pointer()}), 0);
  EXPECT_EQ(out.read()[0], 42);
}

TEST(EmulatedGpu, BarriersOrderStaticAndDynamicSharedMemory) {
  const std::string body = R"(
    extern __shared__ __align__(16) u8 dynamic[];
    __shared__ s32 fixed[256];
    s32* reversed = (s32*)dynamic;
    for (int round = 0; round < 3; ++round) {
      fixed[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x] + round;
      __syncthreads();
      reversed[255 - threadIdx.x] = fixed[threadIdx.x];
      __syncthreads();
      out[blockIdx.x * 256 + threadIdx.x] = reversed[threadIdx.x];
      __syncthreads();
    })";
  const std::vector<int> values = run(simple(body), counted(512), 512, shape(2, 256, 1024));
  for (int i = 0; i < 512; ++i)
    ASSERT_EQ(values[static_cast<size_t>(i)], i / 256 * 256 + 255 - i % 256 + 2);
}

// Each block once with one thread that says so, then with none.
TEST(EmulatedGpu, BarriersSayWhetherAnyThreadDid) {
  const std::string body = R"(
    for (int round = 0; round < 4; ++round) {
      const int any = __syncthreads_or(round % 2 == 0 && threadIdx.x == 7u * round + blockIdx.x);
      out[(blockIdx.x * 4 + round) * 40 + threadIdx.x] = any != 0;
    })";
  const std::vector<int> values = run(simple(body), {0}, 320, shape(2, 40));
  for (size_t i = 0; i < 320; ++i) EXPECT_EQ(values[i], i / 40 % 2 == 0) << i;
}

TEST(EmulatedGpu, ThreadsThatReturnedCountAtBarriers) {
  const std::string body = R"(
    __shared__ s32 sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (threadIdx.x >= 50) return;
    atomicAdd(&sum, 1);
    __syncthreads();
    if (threadIdx.x == 49) out[0] = sum;)";
  EXPECT_EQ(run(simple(body), {0}, 1, shape(1, 100))[0], 50);
}

TEST(EmulatedGpu, SharedMemoryBeginsUndefined) {
  const std::string body = R"(
    extern __shared__ u32 dynamic[];
    __shared__ u32 fixed[1];
    out[2 * blockIdx.x] = dynamic[3];
    out[2 * blockIdx.x + 1] = fixed[0];
    dynamic[3] = fixed[0] = 1;)";
  const std::vector<int> values = run(simple(body), {0}, 4, shape(2, 1, 16));
  for (const int value : values) EXPECT_EQ(static_cast<unsigned>(value), 0xA5A5A5A5u);
}

TEST(EmulatedGpu, ShufflesWithinWarps) {
  const std::string body = R"(
    const int t = threadIdx.x;
    int sum = in[t];
    for (int i = 16; i > 0; i /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, i);
    out[t] = sum;
    out[64 + t] = __shfl_sync(0xffffffffu, in[t], t + 1, 8);
    out[128 + t] = __shfl_down_sync(0xffffffffu, in[t], 3);
    out[192 + t] = __shfl_up_sync(0xffffffffu, in[t], 3);
    if (t % 2 == 0) out[256 + t] = __shfl_sync(0x55555555u, in[t], 2);
    else out[256 + t] = __popc(__ballot_sync(0xaaaaaaaau, t % 32 < 10));)";
  const std::vector<int> values = run(simple(body), counted(64), 320, shape(1, 64));
  for (size_t t = 0; t < 64; ++t) {
    const size_t warp = t / 32 * 32, lane = t % 32;
    EXPECT_EQ(values[t], warp == 0 ? 496 : 496 + 1024);
    EXPECT_EQ(values[64 + t], static_cast<int>(t / 8 * 8 + (t + 1) % 8));
    EXPECT_EQ(values[128 + t], static_cast<int>(lane < 29 ? t + 3 : t));
    EXPECT_EQ(values[192 + t], static_cast<int>(lane < 3 ? t : t - 3));
    EXPECT_EQ(values[256 + t], t % 2 == 0 ? static_cast<int>(warp + 2) : 5);
  }
}

TEST(EmulatedGpu, DotProductsAndBytes) {
  const std::string body = R"(
    out[0] = __dp4a((s32)0x80ff7f01, 0x027f8003, 5);
    out[1] = __dp4a(0x80ff7f01u, 0x027f8003u, 5u);
    out[2] = emulated_dp4a_us(0x80ff7f01u, 0x027f8003u, 5);
    out[3] = __byte_perm(0x33221100, 0x77665584, 0xc241);)";
  const std::vector<int> values = run(simple(body), {0}, 4, shape(1, 1));
  EXPECT_EQ(values[0], -128 * 2 + -1 * 127 + 127 * -128 + 3 + 5);
  EXPECT_EQ(values[1], 128 * 2 + 255 * 127 + 127 * 128 + 3 + 5);
  EXPECT_EQ(values[2], 128 * 2 + 255 * 127 + 127 * -128 + 3 + 5);
  EXPECT_EQ(static_cast<unsigned>(values[3]), 0xff228411u);
}

// One warp, one tile: A 16x32 row-major, B 8x32 (columns one after another), D 16x8, with fragments as the PTX manual has them.
std::string mma_source(const std::string& load_a, const std::string& name) {
  return simple(R"(
    const u8* a = (const u8*)p.in; const u8* b = a + 512;
    const int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    u32 fa[4], fb[2]; s32 d[4] = {1, 2, 3, 4};
)" + load_a + R"(
    for (int i = 0; i < 2; ++i) fb[i] = *(const u32*)(b + g * 32 + q * 4 + i * 16);
)" + name + R"((d, fa, fb);
    for (int i = 0; i < 4; ++i) out[(g + i / 2 * 8) * 8 + q * 2 + i % 2] = d[i];)");
}

constexpr const char* kLoads =
    "for (int i = 0; i < 4; ++i) fa[i] = *(const u32*)(a + (g + i % 2 * 8) * 32 + q * 4 + i / 2 * "
    "16);";
constexpr const char* kLoadMatrix = R"(
    __shared__ __align__(16) u8 tile[512];
    for (int i = 0; i < 16; ++i) tile[lane * 16 + i] = a[lane * 16 + i];
    __syncwarp();
    ldmatrix4(fa, tile + (lane % 16) * 32 + lane / 16 * 16);)";

// The defines of a chip of 7.5 (arch/sm75.h).
const std::vector<std::string> kTuring = {"-DOCTET_WITHOUT_MMA_LONG", "-DOCTET_WITHOUT_CP_ASYNC",
                                          "-DOCTET_WITHOUT_MMA_BF16", "-DOCTET_WITHOUT_HALF_PAIRS"};

void expect_mma(const std::string& source, bool a_signed,
                const std::vector<std::string>& options = {}) {
  const std::vector<std::uint8_t> bytes = random_values<std::uint8_t>(512 + 256);
  const Kernel kernel(source, options);
  const Buffer<std::uint8_t> in(bytes);
  const Buffer<int> out(128);
  ASSERT_EQ(kernel.launch(shape(1, 32), Pointers{in.pointer(), out.pointer()}), 0);
  const std::vector<int> values = out.read();
  for (size_t m = 0; m < 16; ++m) {
    for (size_t n = 0; n < 8; ++n) {
      int sum = static_cast<int>(m / 8 * 2 + n % 2) + 1;
      for (size_t k = 0; k < 32; ++k) {
        const std::uint8_t a = bytes[m * 32 + k];
        sum += (a_signed ? static_cast<std::int8_t>(a) : a) *
               static_cast<std::int8_t>(bytes[512 + n * 32 + k]);
      }
      ASSERT_EQ(values[m * 8 + n], sum) << m << ", " << n;
    }
  }
}

TEST(EmulatedGpu, MultipliesMatrices) {
  expect_mma(mma_source(kLoads, "mma_u8s8"), false);
  expect_mma(mma_source(kLoads, "mma_s8s8"), true);
  expect_mma(mma_source(kLoadMatrix, "mma_u8s8"), false);
}

// Four products of m8n8k16 are one of m16n8k32.
TEST(EmulatedGpu, MultipliesMatricesOfTuring) {
  expect_mma(mma_source(kLoads, "mma_u8s8"), false, kTuring);
  expect_mma(mma_source(kLoads, "mma_s8s8"), true, kTuring);
  expect_mma(mma_source(kLoadMatrix, "mma_u8s8"), false, kTuring);
}

// Copies that nobody has waited for: undefined where there is cp.async, there where they come through registers. Both are there once they were waited for.
TEST(EmulatedGpu, CopiesOfTuringComeAtOnce) {
  const std::string body = R"(
    extern __shared__ __align__(16) u8 dynamic[];
    s32* to = (s32*)dynamic;
    copy_async16(to, in), copy_async8(to + 4, in + 4), copy_async4(to + 6, in + 6);
    copy_async_or_zero<16>(to + 8, in + 8, true), copy_async_or_zero<8>(to + 12, in + 12, false);
    copy_async_commit();
    out[16] = to[3];
    copy_async_wait<0>();
    for (int i = 0; i < 14; ++i) out[i] = i == 7 ? 7 : to[i];)";
  for (const bool turing : {false, true}) {
    const Kernel kernel(simple(body), turing ? kTuring : std::vector<std::string>{});
    const Buffer<int> in(counted(16)), out(17);
    ASSERT_EQ(kernel.launch(shape(1, 1, 64), Pointers{in.pointer(), out.pointer()}), 0);
    const std::vector<int> values = out.read();
    for (int i = 0; i < 12; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], i);
    EXPECT_EQ(values[12], 0);
    EXPECT_EQ(values[13], 0);
    EXPECT_EQ(values[16], turing ? 3 : static_cast<int>(0xA5A5A5A5u));
  }
}

TEST(EmulatedGpu, KernelsInConditionsAndTemplates) {
  const std::string before = R"(
#if 0
extern "C" __global__ void left_out(int* p) {}
#endif
// __global__ void in_a_comment(int* p);
template <int kBy> __device__ __forceinline__ s32 times(s32 a) { __shared__ s32 kept[1]; kept[0] = a * kBy; return kept[0]; }
static __device__ s32 twice(s32 a) { return times<2>(a); }
struct Held { s32 value; __device__ s32 get() const { return value; } };
__device__ const s32 table[2] = {3, 5};
)";
  const std::vector<int> values =
      run(simple("Held held = {twice(in[0])}; out[0] = held.get() + table[1];", before), {4}, 1,
          shape(1, 1));
  EXPECT_EQ(values[0], 13);
}

}  // namespace
}  // namespace octet::emulator
