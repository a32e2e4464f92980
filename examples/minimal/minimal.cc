// SPDX-License-Identifier: Apache-2.0
// Builds an INT8 engine from a model and calibration images, saves it, loads it, runs it once.
#include <iostream>

#include "octet/compile.h"

int main(int argc, char** argv) try {
  if (argc != 4) return std::cerr << "usage: minimal MODEL.onnx IMAGES/ ENGINE.octet\n", 2;
  octet::CompileOptions options;
  options.plan.int8 = true;
  options.calibration.emplace().data = argv[2];
  octet::compile(argv[1], options).save(argv[3]);

  const octet::Engine engine = octet::Engine::load(argv[3]);
  std::vector<octet::Tensor> inputs;
  for (octet::TensorInfo input : engine.inputs()) {
    for (int i = 0; i < input.type.shape.rank(); ++i) {
      if (input.type.shape[i] == octet::Shape::kDynamic) input.type.shape[i] = 1;
    }
    inputs.emplace_back(input.type.dtype, input.type.shape);
  }
  for (const octet::Tensor& output : engine.make_context().run(inputs)) {
    std::cout << octet::to_string(output.type()) << "\n";
  }
} catch (const octet::Error& error) {
  return std::cerr << "error: " << error.what() << "\n", 2;
}
