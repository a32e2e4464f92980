// SPDX-License-Identifier: Apache-2.0
// The numbers of x above 0, and where they stood: an operator whose results data size, on reals and on codes, on the host and on CUDA
// pointers, with one fault of the latter, which OCTET_TEST_FAULT names.
#include <algorithm>
#include <vector>

#include "cuda_calls.h"
#include "octet/plugin_cpp.h"

const char* const kKernels = R"(
template <class T>
__device__ void keep(const T* x, float* y, long long* places, long long count, float scale, int zero, long long* kept) {
  long long n = 0;
  for (long long i = 0; i < count; ++i) {
    const float real = scale * ((float)x[i] - (float)zero);
    if (real <= 0.0f) continue;
    y[n] = real;
    places[n++] = i;
  }
  kept[0] = n;
}

extern "C" __global__ void keep_reals(const float* x, float* y, long long* places, long long count, long long* kept) {
  if (threadIdx.x == 0) keep(x, y, places, count, 1.0f, 0, kept);
}

extern "C" __global__ void keep_codes(const unsigned char* x, float* y, long long* places, long long count, float scale, int zero, long long* kept) {
  if (threadIdx.x == 0) keep(x, y, places, count, scale, zero, kept);
}

extern "C" __global__ void tell(long long* to, const long long* from, long long more) {
  if (threadIdx.x == 0) to[0] = from[0] + more;
}
)";

namespace {

using namespace octet::plugin;

struct Above {
  explicit Above(const Attributes&) {}

  void shapes(Shapes& s) const {
    s.at_most(0, {s.input(0).elements()}, 0);
    s.at_most(1, {s.input(0).elements()}, 0);
  }

  template <class T>
  static void on_host(Call& call, float scale, int zero) {
    const Tensor x = call.input(0);
    int64_t kept = 0;
    for (int64_t i = 0; i < x.elements(); ++i) {
      const float real = scale * (static_cast<float>(x.data<T>()[i]) - static_cast<float>(zero));
      if (real <= 0) continue;
      call.output(0).data<float>()[kept] = real;
      call.output(1).data<int64_t>()[kept++] = i;
    }
    call.set_dims(0, {kept});
    call.set_dims(1, {kept});
  }
  void reals(Call& call) const { on_host<float>(call, 1, 0); }
  void codes(Call& call) const {
    on_host<uint8_t>(call, call.input(0).scale(), call.input(0).zero_point());
  }

  static void tell_other(const Call& call) {
    auto* stream = static_cast<CUstream>(call.stream());
    const long long more = has_fault("TELLS_TOO_MUCH") ? 1 << 20 : 0;
    const int64_t past = has_fault("TELLS_PAST") ? 1 : 0;
    if (!has_fault("TELLS_ONE"))
      launch("tell", stream, 1, call.output(1).told_dims() + past, call.output(0).told_dims(),
             more);
  }
  void reals_on_gpu(Call& call) const {
    const Tensor x = call.input(0);
    launch("keep_reals", static_cast<CUstream>(call.stream()), 1, x.data<float>(),
           call.output(0).data<float>(), call.output(1).data<int64_t>(),
           static_cast<long long>(x.elements()), call.output(0).told_dims());
    tell_other(call);
  }
  void codes_on_gpu(Call& call) const {
    const Tensor x = call.input(0);
    launch("keep_codes", static_cast<CUstream>(call.stream()), 1, x.data<unsigned char>(),
           call.output(0).data<float>(), call.output(1).data<int64_t>(),
           static_cast<long long>(x.elements()), x.scale(), x.zero_point(),
           call.output(0).told_dims());
    tell_other(call);
  }
};

Library make() {
  const std::vector<octet_plugin_format> results = {f32(), s64()};
  return std::move(
      Library("sized_cuda", "1.0")
          .add(
              Operator<Above>("org.sized", "Above", 1)
                  .flags(OCTET_OPERATOR_QUANTIZABLE)
                  .input({"x", 0, 1})
                  .output({"y", OCTET_PORT_DATA_SIZED, 1, 1})
                  .output({"places", OCTET_PORT_DATA_SIZED, 1, 1})
                  .shapes<&Above::shapes>()
                  .combination<&Above::reals>("reals", {f32()}, results)
                  .combination<&Above::codes>("int8", {u8()}, results)
                  .combination<&Above::reals_on_gpu>("gpu", {f32()}, results, OCTET_DEVICE_CUDA)
                  .combination<&Above::codes_on_gpu>("gpu_int8", {u8()}, results, OCTET_DEVICE_CUDA)
                  .example({{2, 60}})));
}

}  // namespace

OCTET_PLUGIN(make())
