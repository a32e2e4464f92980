// SPDX-License-Identifier: Apache-2.0
// For tests: runs one node through a lowering, with inputs in any layout and placement, and through its scalar reference.
#pragma once

#include <string>
#include <vector>

#include "arch/isa.h"
#include "graph/op_def.h"
#include "octet/precision.h"
#include "octet/tensor.h"
#include "plan/offer.h"

namespace octet {

// Of a test that runs kernels of a level: elsewhere it is skipped.
#define OCTET_NEEDS_ISA(isa) \
  if (!hardware_has(isa)) GTEST_SKIP() << "this processor has no " << isa_name(isa)
#define OCTET_NEEDS_VECTORS() \
  if (first_simd_level() == Isa::none) GTEST_SKIP() << "this processor has no vectors"

struct ProbeInput {
  Tensor tensor;  // empty: the input is omitted
  bool constant = false;
  Layout layout = Layout::linear;  // as its producer leaves it
};

struct Probe {
  std::string op;
  std::vector<ProbeInput> inputs = {};
  Attrs attrs = {};
  size_t outputs = 1;
  Isa isa = Isa::none;
  int threads = 1;
  s64 spread =
      0;  // extra elements between pixels and between rows of nhwc values, for steps that are `strided`
  Precision precision = Precision::none;  // as the node was decided

  std::vector<Tensor> reference() const;
};

// The graph that a request for the node refers to.
struct ProbeSetting {
  Graph graph;
  Node node;
  std::vector<TensorType> inputs, outputs;
  std::vector<Layout> layouts;
};
ProbeSetting probe_setting(const Probe& probe);

struct ProbeResult {
  std::string reject;  // empty when there are outputs
  Candidate candidate;
  std::vector<Tensor> outputs;  // in linear order
  size_t offered = 1;           // candidates
};

ProbeResult run_probe(const Probe& probe, Offer (*lowering)(const LowerRequest&));

// f32 values from a fixed sequence, about normal around 0.
Tensor random_f32(const Shape& shape, u64 seed, f32 size = 1.0f);

// The levels of this machine that have kernels of f32.
std::vector<Isa> simd_levels();
// The first of them; none: there are none.
Isa first_simd_level();

// Same bits, or both NaN. Reports the first difference through gtest.
void expect_same_f32(const Tensor& got, const Tensor& want, const std::string& what);
// Class `close`: |got - want| <= 1e-4 * max |want|.
void expect_close_f32(const Tensor& got, const Tensor& want, const std::string& what);

}  // namespace octet
