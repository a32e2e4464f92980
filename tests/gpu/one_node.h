// SPDX-License-Identifier: Apache-2.0
// One node on a GPU, by every kernel that takes it, beside the same node on the CPU.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/plan.h"

namespace octet::test {

// The device that the environment's OCTET_TEST_DEVICE names ("cuda:0"), or null where it cannot be opened; `why` says why not.
const Device* gpu_device(std::string& why);
// The same where it has products of warpgroups and the tensor memory accelerator; else null.
const Device* hopper(std::string& why);
// Whether its tensor cores multiply numbers of that type: "f16", "bf16".
bool multiplies(const Device& gpu, std::string_view type);
// A GPU takes large cases, and many, in no time; an emulated one does not.
bool is_emulated(const Device& device);
// How many cases of a sweep: the environment's OCTET_TEST_CASES, else so many.
int case_count(int otherwise);

// Runs it twice, with weights that its steps share.
std::vector<Tensor> run_plan(Plan plan, std::span<const Tensor> inputs, const Target& target);
std::vector<Tensor> run_on(const Graph& graph, std::span<const Tensor> inputs,
                           const Target& target);

// Of sizes that the graph's inputs have. The kernels of the steps, in order.
Plan plan_of(const Graph& graph, const Target& target);
std::vector<std::string> kernel_names(const Plan& plan);

struct Wanted {
  std::vector<Tensor> outputs;
  std::string what;
};
// Runs the graph with each kernel that takes the node `node` of the plan's graph, and expects these bytes. Adds the kernels' names to `kernels`.
void expect_bytes(const Graph& graph, size_t node, std::span<const Tensor> inputs,
                  const Wanted& wanted, std::vector<std::string>& kernels);

// Runs the graph, whose last node is `node`, with each kernel that takes it, and expects the bytes of the CPU.
void expect_cpu_bytes(const Graph& graph, size_t node, std::span<const Tensor> inputs,
                      const std::string& what, std::vector<std::string>& kernels);

// What the graph gives with each kernel whose name has `part` in the step that has it last, `most` of them at most, evenly from all; `see(kernel, outputs)`. Where kernels are only compiled, they are
// and nothing is seen. The number of kernels there are.
s64 for_each_kernel(const Graph& graph, std::span<const Tensor> inputs, const std::string& part,
                    s64 most,
                    const std::function<void(const std::string&, const std::vector<Tensor>&)>& see);

}  // namespace octet::test
