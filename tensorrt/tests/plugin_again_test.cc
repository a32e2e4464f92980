// SPDX-License-Identifier: Apache-2.0
// The second file that includes the plugin's header: its creator is registered twice, before main.
#include <gtest/gtest.h>

#include "decode_plugin.h"

namespace trt_test {
namespace {

TEST(Registry, TheSameCreatorFromSeveralFilesIsThereOnce) {
  int32_t count = 0;
  nvinfer1::IPluginCreator* const* all = getPluginRegistry()->getPluginCreatorList(&count);
  int found = 0;
  for (int32_t i = 0; i < count; ++i)
    if (std::string(all[i]->getPluginName()) == "Decode_TEST") ++found;
  EXPECT_EQ(found, 1);
  nvinfer1::IPluginCreator* creator = getPluginRegistry()->getPluginCreator("Decode_TEST", "1");
  ASSERT_NE(creator, nullptr);
  EXPECT_STREQ(creator->getPluginNamespace(), "");
}

}  // namespace
}  // namespace trt_test
