// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace octet_trt {
namespace {

using namespace nvinfer1;

std::string word_of(const AsciiChar* text) { return text == nullptr ? "" : text; }

// Clients register the same creator from every file that includes its header, before main and before any logger.
class Registry final : public IPluginRegistry {
 public:
  bool registerCreator(IPluginCreator& creator,
                       AsciiChar const* const pluginNamespace) noexcept override;
  IPluginCreator* const* getPluginCreatorList(int32_t* const numCreators) const noexcept override;
  IPluginCreator* getPluginCreator(AsciiChar const* const pluginName,
                                   AsciiChar const* const pluginVersion,
                                   AsciiChar const* const pluginNamespace = "") noexcept override;
  void setErrorRecorder(IErrorRecorder* const recorder) noexcept override;
  IErrorRecorder* getErrorRecorder() const noexcept override;
  bool deregisterCreator(IPluginCreator const& creator) noexcept override;
  bool isParentSearchEnabled() const override;
  void setParentSearchEnabled(bool const enabled) override;
#if NV_TENSORRT_MAJOR >= 10
  bool registerCreator(IPluginCreatorInterface& creator,
                       AsciiChar const* const pluginNamespace) noexcept override;
  IPluginCreatorInterface* const* getAllCreators(
      int32_t* const numCreators) const noexcept override;
  IPluginCreatorInterface* getCreator(
      AsciiChar const* const pluginName, AsciiChar const* const pluginVersion,
      AsciiChar const* const pluginNamespace = "") noexcept override;
  bool deregisterCreator(IPluginCreatorInterface const& creator) noexcept override;
#endif

 private:
  struct Entry {
    IPluginCreator* creator;
    std::string name, version, space;
  };

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  mutable std::vector<IPluginCreator*> list_;
#if NV_TENSORRT_MAJOR >= 10
  mutable std::vector<IPluginCreatorInterface*> interfaces_;
#endif
  IErrorRecorder* recorder_ = nullptr;
  bool searches_parent_ = true;
};

bool Registry::registerCreator(IPluginCreator& creator,
                               AsciiChar const* const pluginNamespace) noexcept {
  try {
    Entry entry{&creator, word_of(creator.getPluginName()), word_of(creator.getPluginVersion()),
                word_of(pluginNamespace)};
    const std::lock_guard lock(mutex_);
    for (const Entry& other : entries_)
      if (other.name == entry.name && other.version == entry.version && other.space == entry.space)
        return false;
    creator.setPluginNamespace(pluginNamespace);
    entries_.push_back(std::move(entry));
    return true;
  } catch (...) {
    return false;
  }
}

IPluginCreator* const* Registry::getPluginCreatorList(int32_t* const numCreators) const noexcept {
  const std::lock_guard lock(mutex_);
  list_.clear();
  for (const Entry& entry : entries_) list_.push_back(entry.creator);
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(list_.size());
  return list_.data();
}

IPluginCreator* Registry::getPluginCreator(AsciiChar const* const pluginName,
                                           AsciiChar const* const pluginVersion,
                                           AsciiChar const* const pluginNamespace) noexcept {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.name == word_of(pluginName) && entry.version == word_of(pluginVersion) &&
        entry.space == word_of(pluginNamespace))
      return entry.creator;
  }
  return nullptr;
}

void Registry::setErrorRecorder(IErrorRecorder* const recorder) noexcept { recorder_ = recorder; }
IErrorRecorder* Registry::getErrorRecorder() const noexcept { return recorder_; }

bool Registry::deregisterCreator(IPluginCreator const& creator) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.creator == &creator; }) > 0;
}

bool Registry::isParentSearchEnabled() const { return searches_parent_; }
void Registry::setParentSearchEnabled(bool const enabled) { searches_parent_ = enabled; }

#if NV_TENSORRT_MAJOR >= 10
bool Registry::registerCreator(IPluginCreatorInterface& creator,
                               AsciiChar const* const pluginNamespace) noexcept {
  auto* own = dynamic_cast<IPluginCreator*>(&creator);
  return own != nullptr && registerCreator(*own, pluginNamespace);
}

IPluginCreatorInterface* const* Registry::getAllCreators(
    int32_t* const numCreators) const noexcept {
  const std::lock_guard lock(mutex_);
  interfaces_.clear();
  for (const Entry& entry : entries_) interfaces_.push_back(entry.creator);
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(interfaces_.size());
  return interfaces_.data();
}

IPluginCreatorInterface* Registry::getCreator(AsciiChar const* const pluginName,
                                              AsciiChar const* const pluginVersion,
                                              AsciiChar const* const pluginNamespace) noexcept {
  return getPluginCreator(pluginName, pluginVersion, pluginNamespace);
}

bool Registry::deregisterCreator(IPluginCreatorInterface const& creator) noexcept {
  const auto* own = dynamic_cast<const IPluginCreator*>(&creator);
  return own != nullptr && deregisterCreator(*own);
}
#endif

}  // namespace

nvinfer1::IPluginRegistry& registry() {
  static Registry* const one = new Registry;  // creators outlive every static object
  return *one;
}

}  // namespace octet_trt
