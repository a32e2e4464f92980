// SPDX-License-Identifier: Apache-2.0
// Whether the kernels of a device give the bytes of the scalar reference on the chip at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "octet/machine.h"
#include "octet/progress.h"

namespace octet {

struct SelfTestOptions {
  std::string device = "cpu";
  int threads = 1;
  // Nothing is begun after so many seconds; 0: all is done. What was not reached is counted in SelfTestReport::left.
  double seconds = 120;
  // Of each layer, other kernels than the chosen one that run as well, at most.
  int other_kernels = 3;
  Monitor monitor = {};  // stage "selftest", one for each network
};

// What ran under one name ("conv_mma"; its tiles and layouts are not part of the name).
struct SelfTestKernel {
  std::string name;
  int64_t runs = 0;
  int64_t wrong = 0;
};

// A run whose bytes were not the reference's, or that ended in an error.
struct SelfTestFailure {
  std::string network;
  std::string layer;   // empty: the network as it is planned, all of it
  std::string kernel;  // whole, with its tile
  std::string what;
};

// A chip that is broken, or lost, fails everywhere: after so many failures nothing more is begun.
inline constexpr size_t kMostSelfTestFailures = 20;

struct SelfTestReport {
  DeviceInfo device;
  int64_t networks = 0;  // of which all ran
  int64_t left = 0;      // others: time or failures ended the test before their end
  int64_t layers = 0;    // of those that ran
  int64_t on_host = 0;   // of these, those that another device than the host has no kernel for
  int64_t runs = 0;
  std::vector<SelfTestKernel> kernels;  // by name
  std::vector<SelfTestFailure> failures;
};

// Small INT8 networks with made-up weights, which have what classifiers, detectors and transformers are made of: each runs as it is planned,
// and again with other kernels in the place of each layer's, and every value is compared with that of the scalar reference. Throws
// Error(invalid_argument) or Error(unsupported) as device_info() does; what goes wrong in a run is a failure of the report.
SelfTestReport self_test(const SelfTestOptions& options = {});

}  // namespace octet
