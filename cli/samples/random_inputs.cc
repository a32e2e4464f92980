// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/random_inputs.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "octet/error_stats.h"

namespace octet::cli {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  uint8_t byte() { return static_cast<uint8_t>(random_() >> 56); }
  // Of 24 bits: exact in f32, and below 1.
  float real() { return static_cast<float>(random_() >> 40) / static_cast<float>(1 << 24); }

 private:
  std::mt19937_64 random_;
};

// The upper half of the f32 with the same value: what bf16 is.
uint16_t bf16_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

// Of [0, 1): a power of two and ten bits, cut; what is too small for both is 0.
uint16_t f16_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t exponent = bits >> 23;
  constexpr uint32_t kBias = 127 - 15;
  if (exponent <= kBias) return 0;
  return static_cast<uint16_t>((exponent - kBias) << 10 | (bits >> 13 & 0x3ff));
}

template <class T>
void fill(Tensor& tensor, Generator& random, T (*make)(Generator&)) {
  std::byte* at = tensor.mutable_data();
  for (int64_t i = 0; i < tensor.elements(); ++i, at += sizeof(T)) {
    const T value = make(random);
    std::memcpy(at, &value, sizeof(T));
  }
}

Tensor random_tensor(const TensorType& type, Generator& random) {
  Tensor tensor(type.dtype, type.shape);
  std::fill_n(tensor.mutable_data(), tensor.bytes(), std::byte{0});
  switch (type.dtype) {
    case Dtype::f32:
      fill<float>(tensor, random, [](Generator& g) { return g.real(); });
      break;
    case Dtype::f64:
      fill<double>(tensor, random, [](Generator& g) { return static_cast<double>(g.real()); });
      break;
    case Dtype::f16:
      fill<uint16_t>(tensor, random, [](Generator& g) { return f16_of(g.real()); });
      break;
    case Dtype::bf16:
      fill<uint16_t>(tensor, random, [](Generator& g) { return bf16_of(g.real()); });
      break;
    case Dtype::u8:
    case Dtype::s8:
      fill<uint8_t>(tensor, random, [](Generator& g) { return g.byte(); });
      break;
    case Dtype::boolean:
      fill<uint8_t>(tensor, random,
                    [](Generator& g) { return static_cast<uint8_t>(g.byte() & 1); });
      break;
    default:
      break;
  }
  return tensor;
}

}  // namespace

std::vector<Tensor> random_inputs(const Engine& engine, const std::vector<Shape>& shapes,
                                  uint64_t seed) {
  Generator random(seed);
  std::vector<Tensor> inputs;
  const std::vector<TensorInfo> infos = engine.inputs();
  for (size_t i = 0; i < infos.size(); ++i)
    inputs.push_back(random_tensor({infos[i].type.dtype, shapes[i]}, random));
  return inputs;
}

}  // namespace octet::cli
