// SPDX-License-Identifier: Apache-2.0
// Machine code of whole networks for chips that are not here: the kernels that plans for each known chip start, which tests/gpu/chips.py has made and
// counts. OCTET_TEST_ENGINES names a folder of engines, OCTET_TEST_FACTS a file for what the code says of itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/backends.h"
#include "backends/cuda/arch/boards.h"
#include "backends/cuda/wanted_kernels.h"
#include "compile_only.h"
#include "octet/engine.h"
#include "one_node.h"
#include "runtime/inside.h"

namespace octet::test {
namespace {

std::vector<std::filesystem::path> engines() {
  const char* folder = std::getenv("OCTET_TEST_ENGINES");
  if (folder == nullptr || *folder == '\0') return {};
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".octet") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

// Of all inputs; where a first dimension is open, `batch`, and 64 for the others.
std::vector<Shape> shapes_of(const Graph& graph, s64 batch) {
  constexpr s64 kOther = 64;
  std::vector<Shape> shapes;
  for (ValueId id : graph.inputs) {
    std::vector<s64> sizes;
    for (const s64 size : graph.value(id).type.shape.dims())
      sizes.push_back(size >= 0 ? size : sizes.empty() ? batch : kOther);
    shapes.emplace_back(std::span<const s64>(sizes));
  }
  return shapes;
}

void write_facts(const std::string& board) {
  const char* path = std::getenv("OCTET_TEST_FACTS");
  if (path == nullptr) return;
  std::ofstream file(path, std::ios::app);
  for (const CompiledKernel& kernel : compiled_kernels()) {
    const CubinFacts& facts = kernel.facts;
    file << nlohmann::json{{"chip", board},
                           {"family", kernel.family},
                           {"registers", facts.registers},
                           {"shared", facts.shared_bytes},
                           {"instructions", facts.instructions},
                           {"spills", facts.spills},
                           {"mma", facts.warp_products},
                           {"wgmma", facts.group_products},
                           {"dot", facts.dot_products}}
         << '\n';
  }
}

TEST(GpuChips, KernelsOfNetworks) {
  const auto files = engines();
  if (files.empty()) GTEST_SKIP() << "OCTET_TEST_ENGINES names no engines";
  const char* wish = std::getenv("OCTET_TEST_CHIP");
  ASSERT_NE(wish, nullptr) << "OCTET_TEST_CHIP names one";
  // Those of a product's size and clock; of an architecture without a product that is known, the emulated one.
  const std::vector<std::string> names = {wish};
  std::optional<cuda::WantedKernels> wanted;
  std::vector<const Device*> gpus;
  if (std::ranges::any_of(cuda::boards(),
                          [&](const cuda::Board& board) { return is_meant(board, wish); })) {
    wanted.emplace(names);
    for (size_t i = 0; i < wanted->gpus().size(); ++i) gpus.push_back(&wanted->device(i));
  } else {
    std::string why;
    gpus.push_back(gpu_device(why));
    ASSERT_NE(gpus.back(), nullptr) << why;
  }
  for (const std::filesystem::path& file : files) {
    SCOPED_TRACE(file);
    const Engine engine = Engine::load(file);
    const Graph& graph = Inside::model(engine).graph;
    for (const s64 batch : {1, 8}) {
      for (const Device* gpu : gpus) {
        const Target target{.device = gpu, .host = &find_device("cpu"), .threads = 1};
        compile_kernels(make_plan(graph, shapes_of(graph, batch), target));
      }
    }
  }
  EXPECT_FALSE(compiled_kernels().empty());
  write_facts(wish);
}

}  // namespace
}  // namespace octet::test
