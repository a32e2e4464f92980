// SPDX-License-Identifier: Apache-2.0
// Finds the ONNX node tests and runs one of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace octet {

enum class Outcome { pass, fail, skip };

// Through what a test runs.
enum class Runner {
  interpreter,  // the imported graph, node by node, through the scalar references
  cpu,          // compiled, planned and run as `octet build` and `octet run` do it
  test,         // the same on test devices, partly on the host: another device for each test
  cuda,         // the same on the first GPU
};

struct TestResult {
  std::string name;
  Outcome outcome = Outcome::fail;
  std::vector<std::string> ops;  // of the model
  std::string message;           // why it failed or was skipped
  std::vector<std::string> missing_ops;
};

struct TestData {
  std::filesystem::path folder;  // empty: none found
  bool complete = false;         // the edition that expected.txt describes
};

// OCTET_ONNX_TESTS, else the archive of the shared folder unpacked into `scratch`, else Debian's libonnx-testdata.
TestData find_test_data(const std::filesystem::path& shared, const std::filesystem::path& scratch);

TestResult run_test(const std::filesystem::path& folder, Runner runner, double absolute_tolerance);

}  // namespace octet
