// SPDX-License-Identifier: Apache-2.0
// Compiles a model that is in memory, calibrated on samples that the program makes itself, and ends another compilation early.
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "octet/compile.h"

namespace {

std::vector<std::byte> read_bytes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

// A source of samples may be anything: here, batches of random numbers. False ends the data.
octet::SampleSource random_samples(octet::TensorType type, int batches) {
  type.shape[0] = 8;
  return [type, batches, random = std::mt19937()](std::vector<octet::Tensor>& inputs) mutable {
    if (batches-- == 0) return false;
    octet::Tensor tensor(type.dtype, type.shape);
    for (float& value : tensor.mutable_as<float>())
      value = std::uniform_real_distribution(0.f, 1.f)(random);
    inputs = {tensor};
    return true;
  };
}

// False at the second sample of the calibration: the call ends there, and leaves nothing.
bool cancels(const std::vector<std::byte>& model, octet::CompileOptions options) try {
  options.monitor.report = [](const octet::Progress& now) {
    return now.stage != "calibrate" || now.done < 2;
  };
  octet::compile(model, options);
  return false;
} catch (const octet::Error& error) {
  return error.code() == octet::Error::Code::cancelled;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return std::cerr << "usage: embed MODEL.onnx ENGINE.octet\n", 2;
  const std::vector<std::byte> model = read_bytes(argv[1]);
  const octet::TensorType input = octet::compile(model).inputs().at(0).type;
  octet::CompileOptions options;
  options.plan.int8 = true;
  options.calibration.emplace().samples = random_samples(input, 4);
  std::cout << (cancels(model, options) ? "cancelled\n" : "not cancelled\n");

  const octet::Engine engine = octet::compile(model, options);
  const std::vector<std::byte> bytes = engine.to_bytes();
  std::ofstream(argv[2], std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  std::cout << bytes.size() << " bytes\n";
} catch (const octet::Error& error) {
  return std::cerr << "error: " << error.what() << "\n", 2;
}
