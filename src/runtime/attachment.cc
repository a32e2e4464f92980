// SPDX-License-Identifier: Apache-2.0
#include "octet/attachment.h"

#include <cstring>

#include "core/memory.h"
#include "runtime/engine_file.h"
#include "runtime/inside.h"

namespace octet {

Engine with_attachment(const Engine& engine, std::span<const std::byte> bytes) {
  return without_bad_alloc([&] {
    auto model = std::make_shared<Model>(Inside::model(engine));
    model->attachment = Tensor();
    if (!bytes.empty()) {
      Tensor copy(Dtype::u8, Shape{static_cast<s64>(bytes.size())});
      std::memcpy(copy.mutable_data(), bytes.data(), bytes.size());
      model->attachment = std::move(copy);
    }
    return Inside::engine(std::move(model));
  });
}

std::span<const std::byte> attachment(const Engine& engine) {
  const Tensor& carried = Inside::model(engine).attachment;
  if (!carried) return {};
  return {carried.data(), carried.bytes()};
}

std::vector<std::byte> attachment(std::span<const std::byte> engine_file) {
  return without_bad_alloc([&] {
    const Tensor carried = read_attachment(engine_file);
    if (!carried) return std::vector<std::byte>();
    return std::vector<std::byte>(carried.data(), carried.data() + carried.bytes());
  });
}

}  // namespace octet
