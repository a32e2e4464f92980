// SPDX-License-Identifier: Apache-2.0
// Runs an engine from two threads over the program's own memory. Links Octet::runtime alone.
#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <thread>
#include <vector>

#include "octet/engine.h"
#include "octet/tensor_view.h"

namespace {

std::vector<std::byte> read_bytes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

// Memory for a tensor; a dynamic size becomes 1.
struct Buffer {
  explicit Buffer(octet::TensorType type) : view{std::move(type), nullptr, {}, "cpu"} {
    for (int i = 0; i < view.type.shape.rank(); ++i) {
      if (view.type.shape[i] == octet::Shape::kDynamic) view.type.shape[i] = 1;
    }
    bytes.resize(static_cast<size_t>(view.type.bytes()));
    view.data = bytes.data();
  }
  std::vector<std::byte> bytes;
  octet::MutableTensorView view;
};

// One context for each thread; the engine and its weights are shared.
void serve(const octet::Engine& engine, std::vector<std::byte>& answer) {
  std::vector<Buffer> inputs, outputs;
  std::vector<octet::TensorView> in;
  std::vector<octet::MutableTensorView> out;
  std::vector<octet::Shape> shapes;
  for (const octet::TensorInfo& info : engine.inputs()) inputs.emplace_back(info.type);
  for (const Buffer& buffer : inputs) {
    in.push_back(buffer.view);
    shapes.push_back(buffer.view.type.shape);
  }
  octet::Context context = engine.make_context();
  context.prepare(shapes);
  for (const octet::TensorType& type : context.output_types()) outputs.emplace_back(type);
  for (const Buffer& buffer : outputs) out.push_back(buffer.view);
  for (int run = 0; run < 3; ++run) context.run_into(in, out);
  answer = outputs.front().bytes;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return std::cerr << "usage: serve ENGINE.octet\n", 2;
  const octet::Engine engine = octet::Engine::load(read_bytes(argv[1]));
  std::vector<std::byte> first, second;
  {
    const std::jthread one([&] { serve(engine, first); }), two([&] { serve(engine, second); });
  }
  std::cout << (first == second ? "equal" : "different") << " answers of " << first.size()
            << " bytes\n";
  return first == second ? 0 : 1;
} catch (const octet::Error& error) {
  return std::cerr << "error: " << error.what() << "\n", 2;
}
