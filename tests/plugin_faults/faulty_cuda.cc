// SPDX-License-Identifier: Apache-2.0
// z = gain * x + y, on the host and on CUDA pointers, with one fault of the latter, which OCTET_TEST_FAULT names and octet plugin check
// --device cuda must find. Without one it passes. Kernels are compiled when the first call comes, so the emulated GPU runs them too.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "cuda_calls.h"
#include "octet/plugin_cpp.h"

const char* const kKernels = R"(
extern "C" __global__ void times(const float* x, float* own, long long count, float gain) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) own[i] = gain * x[i];
}

extern "C" __global__ void plus(const float* own, const float* y, float* z, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i] = own[i] + y[i];
}

extern "C" __global__ void codes(const unsigned char* x, const unsigned char* y, unsigned char* z, long long count,
                                 float by_x, int zero_x, float by_y, int zero_y, int zero_z) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float real = by_x * (float)(x[i] - zero_x) + by_y * (float)(y[i] - zero_y);
  z[i] = (unsigned char)fminf(255.0f, fmaxf(0.0f, rintf(real) + (float)zero_z));
}
)";

namespace {

using namespace octet::plugin;

CUstream own_stream() {
  static CUstream own = [] {
    CUstream made = nullptr;
    check(cuda().cuStreamCreate(&made, octet::cuda::kStreamNonBlocking), "stream");
    return made;
  }();
  return own;
}

CUstream stream_of(const Call& call) {
  if (has_fault("DEFAULT_STREAM")) return nullptr;
  return has_fault("OWN_STREAM") ? own_stream() : static_cast<CUstream>(call.stream());
}

float* shared_buffer() {
  static const CUdeviceptr shared = [] {
    CUdeviceptr made = 0;
    check(cuda().cuMemAlloc(&made, 1 << 20), "memory");
    return made;
  }();
  return reinterpret_cast<float*>(shared);
}

// What should never happen, after the work itself.
void misbehave(const Call& call, CUstream stream) {
  const int64_t bytes = 4 * call.input(0).elements();
  const void *x = call.input(0).data<void>(), *z = call.output(0).data<void>();
  if (has_fault("WRITES_BEFORE")) check(cuda().cuMemsetD8Async(at(z, -4), 0, 4, stream), "memset");
  if (has_fault("WRITES_ONE_PAST"))
    check(cuda().cuMemsetD8Async(at(z, bytes), 0, 1, stream), "memset");
  if (has_fault("WRITES_TO_INPUT")) check(cuda().cuMemsetD8Async(at(x), 0, 1, stream), "memset");
  if (has_fault("READS_PAST")) check(cuda().cuMemcpyAsync(at(z), at(x, bytes), 1, stream), "copy");
  if (has_fault("WAITS")) check(cuda().cuStreamSynchronize(stream), "wait");
  CUdeviceptr lost = 0;
  if (has_fault("LEAKS")) check(cuda().cuMemAlloc(&lost, 1 << 16), "memory");
}

struct GainedSum {
  explicit GainedSum(const Attributes& attributes) : gain(attributes.f("gain")) {}

  void shapes(Shapes& s) const {
    if (s.input(0).dims() != s.input(1).dims()) throw Refused("x and y have other shapes");
    s.same(0, 0);
  }
  int64_t room(const Call& call) const {
    return call.input(0).elements() * (has_fault("WORKSPACE_TOO_SMALL") ? 2 : 4);
  }

  void reals_on_host(Call& call) const {
    const Tensor x = call.input(0), y = call.input(1), z = call.output(0);
    for (int64_t i = 0; i < x.elements(); ++i)
      z.data<float>()[i] = gain * x.data<float>()[i] + y.data<float>()[i];
  }
  void codes_on_host(Call& call) const {
    const Tensor x = call.input(0), y = call.input(1), z = call.output(0);
    for (int64_t i = 0; i < x.elements(); ++i) {
      const int a = x.data<uint8_t>()[i] - x.zero_point(),
                b = y.data<uint8_t>()[i] - y.zero_point();
      const float real =
          gain * x.scale() * static_cast<float>(a) + y.scale() * static_cast<float>(b);
      const float code = std::nearbyint(real / z.scale()) + static_cast<float>(z.zero_point());
      z.data<uint8_t>()[i] = static_cast<uint8_t>(std::min(255.0f, std::max(0.0f, code)));
    }
  }

  void reals(Call& call) const {
    const CUstream stream = stream_of(call);
    const auto *x = call.input(0).data<float>(), *y = call.input(1).data<float>();
    auto *z = call.output(0).data<float>(), *own = static_cast<float*>(call.workspace());
    int64_t count = call.input(0).elements();
    if (has_fault("FORGETS_THE_LAST")) --count;
    if (has_fault("SHARES_A_BUFFER")) own = shared_buffer();
    float by = has_fault("OTHER_VALUES") ? 1.5f * gain : gain;
    static std::atomic<int> calls = 0;
    if (has_fault("CHANGES_FROM_RUN_TO_RUN")) by += 1e-3f * static_cast<float>(calls++);
    if (!has_fault("READS_ITS_WORKSPACE_FIRST"))
      launch("times", stream, count, x, own, static_cast<long long>(count), by);
    if (has_fault("WRITES_FAR_PAST")) count += 1 << 24;
    launch("plus", stream, count, static_cast<const float*>(own), y, z,
           static_cast<long long>(count));
    misbehave(call, stream);
  }

  void codes(Call& call) const {
    const Tensor x = call.input(0), y = call.input(1), z = call.output(0);
    const float scale_y = has_fault("ONE_SCALE_FOR_ALL") ? x.scale() : y.scale();
    launch("codes", stream_of(call), x.elements(), x.data<const unsigned char>(),
           y.data<const unsigned char>(), z.data<unsigned char>(),
           static_cast<long long>(x.elements()), gain * x.scale() / z.scale(), x.zero_point(),
           scale_y / z.scale(), y.zero_point(), z.zero_point());
  }

  float gain;
};

Library make() {
  const std::vector<octet_plugin_format> real = {f32()}, two = {f32(), f32()}, code = {u8()},
                                         codes = {u8(), u8()};
  using Sum = GainedSum;
  return std::move(
      Library("faulty_cuda", "1.0")
          .add(Operator<Sum>("org.faults", "GainedSum", 1)
                   .real("gain", 0.5f)
                   .between(0, 2)
                   .input({"x", 0, 1})
                   .input({"y", 0, 1})
                   .output({"z", 0, 1})
                   .shapes<&Sum::shapes>()
                   .combination<&Sum::reals_on_host>("reals", two, real)
                   .combination<&Sum::codes_on_host>("int8", codes, code)
                   .combination<&Sum::reals>("gpu", two, real, OCTET_DEVICE_CUDA)
                   .workspace<&Sum::room>()
                   .combination<&Sum::codes>("gpu_int8", codes, code, OCTET_DEVICE_CUDA)
                   .example({{120}, {120}})));
}

}  // namespace

OCTET_PLUGIN(make())
