// SPDX-License-Identifier: Apache-2.0
#include "octet/selftest.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "inspect/selftest/difference.h"
#include "inspect/selftest/networks.h"
#include "octet/error.h"
#include "ops/registry.h"

namespace octet {
namespace {

TEST(SelfTest, EachKernelOfTheProcessorGivesTheReference) {
  SelfTestOptions options;
  options.seconds = 0;
  options.threads = 2;
  const SelfTestReport report = self_test(options);
  EXPECT_EQ(report.networks, std::ssize(self_test_networks()));
  EXPECT_EQ(report.left, 0);
  EXPECT_EQ(report.on_host, 0);
  EXPECT_GT(report.layers, 50);
  EXPECT_GT(report.kernels.size(), 10u);
  for (const SelfTestFailure& failure : report.failures)
    ADD_FAILURE() << failure.network << ", " << failure.layer << ", " << failure.kernel << ": "
                  << failure.what;
}

TEST(SelfTest, NothingIsBegunWhenTimeIsOver) {
  SelfTestOptions options;
  options.seconds = 1e-9;
  const SelfTestReport report = self_test(options);
  EXPECT_EQ(report.left, std::ssize(self_test_networks()));
  EXPECT_EQ(report.runs, 0);
}

TEST(SelfTest, CanBeEnded) {
  SelfTestOptions options;
  options.monitor.report = [](const Progress& progress) { return progress.done == 0; };
  EXPECT_THROW(self_test(options), Error);
}

TEST(SelfTest, AByteThatDiffersIsNamed) {
  const Graph graph = parse_graph(R"(graph "g"(%x: u8[4]) { return %x, %x })", find_op);
  const Tensor want = Tensor::of<u8>({4}, std::vector<u8>{1, 2, 3, 4});
  const Tensor other = Tensor::of<u8>({4}, std::vector<u8>{1, 2, 9, 9});
  const std::vector<Tensor> same = {want, want}, second = {want, other};
  EXPECT_EQ(first_difference(graph, same, same), "");
  EXPECT_EQ(first_difference(graph, second, same),
            "2 of 4 bytes of 'x' are not the reference's, the first is byte 2");
}

}  // namespace
}  // namespace octet
