// SPDX-License-Identifier: Apache-2.0
// A library of creators, as IPluginRegistry::loadLibrary() opens it.
#include "NvInfer.h"

namespace {

class LibraryCreator : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Library_TEST"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const nvinfer1::PluginFieldCollection*) noexcept override {
    return nullptr;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return nullptr;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

#ifdef OCTET_TEST_REGISTERS
REGISTER_TENSORRT_PLUGIN(LibraryCreator);

}  // namespace
#else
LibraryCreator creator;
nvinfer1::ILogger* logger = nullptr;

}  // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(
    nvinfer1::ILoggerFinder* finder);
void setLoggerFinder(nvinfer1::ILoggerFinder* finder) { logger = finder->findLogger(); }

#if NV_TENSORRT_MAJOR >= 10
extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreatorInterface* const*
getCreators(int32_t& count);
nvinfer1::IPluginCreatorInterface* const* getCreators(int32_t& count) {
  static nvinfer1::IPluginCreatorInterface* const list[] = {&creator};
#else
extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreator* const*
getPluginCreators(int32_t& count);
nvinfer1::IPluginCreator* const* getPluginCreators(int32_t& count) {
  static nvinfer1::IPluginCreator* const list[] = {&creator};
#endif
  count = logger == nullptr ? 0 : 1;
  return list;
}
#endif
