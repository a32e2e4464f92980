// SPDX-License-Identifier: Apache-2.0
// A plugin with a kernel of its own, as an author would write it; tests/gpu/run compiles it where CUDA's compiler is installed.
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "octet/plugin_cpp.h"

namespace {

using namespace octet::plugin;

__global__ void scale_kernel(const float* x, float* y, long long count, float by) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = by * x[i];
}

struct Scaled {
  explicit Scaled(const Attributes& attributes) : by(attributes.f("by")) {}

  void shapes(Shapes& s) const { s.same(0, 0); }

  void on_host(Call& call) const {
    const float* x = call.input(0).data<float>();
    float* y = call.output(0).data<float>();
    for (int64_t i = 0; i < call.input(0).elements(); ++i) y[i] = by * x[i];
  }

  void on_gpu(Call& call) const {
    constexpr int kThreads = 256;
    const int64_t count = call.input(0).elements();
    const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
    scale_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(call.stream())>>>(
        call.input(0).data<float>(), call.output(0).data<float>(), count, by);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
      throw std::runtime_error(cudaGetErrorString(error));
  }

  float by;
};

Library make() {
  return std::move(Library("scaled", "1.0")
                       .add(Operator<Scaled>("octet.tests", "Scaled", 1)
                                .real("by", 2.5f)
                                .input({"x"})
                                .output({"y"})
                                .shapes<&Scaled::shapes>()
                                .combination<&Scaled::on_host>("host", {f32()}, {f32()})
                                .combination<&Scaled::on_gpu>("gpu", {f32()}, {f32()},
                                                              OCTET_DEVICE_CUDA)));
}

}  // namespace

OCTET_PLUGIN(make())
