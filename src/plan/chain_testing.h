// SPDX-License-Identifier: Apache-2.0
// For tests of kernels of chains.
#pragma once

namespace octet::test {

// While one lives, chains are taken also where estimates find them dearer than their parts, the longest first.
class DearChains {
 public:
  DearChains();
  ~DearChains();
  DearChains(const DearChains&) = delete;
  DearChains& operator=(const DearChains&) = delete;
};

}  // namespace octet::test
