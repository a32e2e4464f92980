// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/registry.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "tensorrt/plugins/object.h"
#include "tensorrt/shared/handed.h"

namespace octet_trt {
namespace {

std::string word_of(const AsciiChar* text) { return text == nullptr ? "" : text; }

#if NV_TENSORRT_MAJOR >= 10
using AnyCreator = IPluginCreatorInterface;
#else
using AnyCreator = IPluginCreator;
#endif

// The creators of one kind of function: those of the elder classes, and at level 10 those of IPluginV3.
struct Registered {
  AnyCreator* creator;
  FoundCreator typed;
  PluginName name;
};

// Clients register the same creator from every file that includes its header, before main and before any logger.
class Registry final : public Padded<IPluginRegistry> {
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
  PluginLibraryHandle loadLibrary(AsciiChar const* pluginPath) noexcept override;
  void deregisterLibrary(PluginLibraryHandle handle) noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  bool registerCreator(IPluginCreatorInterface& creator,
                       AsciiChar const* const pluginNamespace) noexcept override;
  IPluginCreatorInterface* const* getAllCreators(
      int32_t* const numCreators) const noexcept override;
  IPluginCreatorInterface* const* getAllCreatorsRecursive(
      int32_t* const numCreators) noexcept override;
  IPluginCreatorInterface* getCreator(
      AsciiChar const* const pluginName, AsciiChar const* const pluginVersion,
      AsciiChar const* const pluginNamespace = "") noexcept override;
  bool deregisterCreator(IPluginCreatorInterface const& creator) noexcept override;
  IPluginResource* acquirePluginResource(AsciiChar const* key,
                                         IPluginResource* resource) noexcept override;
  int32_t releasePluginResource(AsciiChar const* key) noexcept override;
#endif

  FoundCreator find(const PluginName& name) const;
  std::vector<std::string> spaces(const std::string& type, const std::string& version) const;

 private:
  struct Library {
    int64_t loads = 0;
    std::vector<AnyCreator*> creators;
  };

  bool add(Registered entry);
  bool remove(const AnyCreator* creator);
  Reporter reporter() const { return {&error_output(), recorder_}; }
  bool register_shown(void* library);
  void keep(void* library, bool shows, const std::vector<AnyCreator*>& creators);

  mutable std::mutex mutex_;
  std::vector<Registered> entries_;
  std::map<void*, Library> libraries_;
  mutable std::vector<IPluginCreator*> list_;
#if NV_TENSORRT_MAJOR >= 10
  struct Resource {
    IPluginResource* one;
    int64_t users;
  };
  mutable std::vector<IPluginCreatorInterface*> interfaces_;
  // With one user more; null where nobody acquired it.
  IPluginResource* kept_resource(const std::string& key);
  std::map<std::string, Resource> resources_;
#endif
  IErrorRecorder* recorder_ = nullptr;
  bool searches_parent_ = true;
};

// What this thread's loadLibrary() registers: a library does so itself while it is opened, or shows a list.
thread_local std::vector<AnyCreator*>* loaded_creators = nullptr;

class Loading {
 public:
  explicit Loading(std::vector<AnyCreator*>& creators)
      : outer_(std::exchange(loaded_creators, &creators)) {}
  ~Loading() { loaded_creators = outer_; }

 private:
  std::vector<AnyCreator*>* outer_;
};

bool same_name(const PluginName& a, const PluginName& b) {
  return a.type == b.type && a.version == b.version && a.space == b.space;
}

bool Registry::add(Registered entry) {
  const std::lock_guard lock(mutex_);
  for (const Registered& other : entries_)
    if (same_name(other.name, entry.name)) return false;
  if (loaded_creators != nullptr) loaded_creators->push_back(entry.creator);
  entries_.push_back(std::move(entry));
  return true;
}

bool Registry::remove(const AnyCreator* creator) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(entries_,
                       [&](const Registered& entry) { return entry.creator == creator; }) > 0;
}

bool Registry::registerCreator(IPluginCreator& creator,
                               AsciiChar const* const pluginNamespace) noexcept {
  return guarded(reporter(), "IPluginRegistry::registerCreator", false, [&] {
    need(&creator, "creator");
    Registered entry{&creator, {}, {}};
    entry.typed.v2 = &creator;
    entry.name = {word_of(creator.getPluginName()), word_of(creator.getPluginVersion()),
                  word_of(pluginNamespace)};
    const char* space = kept_text(entry.name.space);
    if (!add(std::move(entry))) return false;
    creator.setPluginNamespace(space);
    return true;
  });
}

IPluginCreator* const* Registry::getPluginCreatorList(int32_t* const numCreators) const noexcept {
  const std::lock_guard lock(mutex_);
  list_.clear();
  for (const Registered& entry : entries_)
    if (entry.typed.v2 != nullptr) list_.push_back(entry.typed.v2);
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(list_.size());
  return list_.data();
}

IPluginCreator* Registry::getPluginCreator(AsciiChar const* const pluginName,
                                           AsciiChar const* const pluginVersion,
                                           AsciiChar const* const pluginNamespace) noexcept {
  return guarded(
      reporter(), "IPluginRegistry::getPluginCreator", static_cast<IPluginCreator*>(nullptr), [&] {
        return find({word_of(pluginName), word_of(pluginVersion), word_of(pluginNamespace)}).v2;
      });
}

FoundCreator Registry::find(const PluginName& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find_if(
      entries_, [&](const Registered& entry) { return same_name(entry.name, name); });
  return at == entries_.end() ? FoundCreator{} : at->typed;
}

std::vector<std::string> Registry::spaces(const std::string& type,
                                          const std::string& version) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (const Registered& entry : entries_)
    if (entry.name.type == type && (version.empty() || entry.name.version == version))
      found.push_back(entry.name.space);
  return found;
}

void Registry::setErrorRecorder(IErrorRecorder* const recorder) noexcept { recorder_ = recorder; }
IErrorRecorder* Registry::getErrorRecorder() const noexcept { return recorder_; }
bool Registry::deregisterCreator(IPluginCreator const& creator) noexcept {
  return guarded(reporter(), "IPluginRegistry::deregisterCreator", false, [&] {
    need(&creator, "creator");
    return remove(&creator);
  });
}
bool Registry::isParentSearchEnabled() const { return searches_parent_; }
void Registry::setParentSearchEnabled(bool const enabled) { searches_parent_ = enabled; }

// What libraries ask for a logger: the one that the first builder or runtime was given.
class LoggerFinder final : public Padded<ILoggerFinder> {
 public:
  ILogger* findLogger() override { return getLogger(); }
};

void tell_logger(void* library) {
  static LoggerFinder finder;
  using Set = void (*)(ILoggerFinder*);
  if (const auto set = reinterpret_cast<Set>(dlsym(library, "setLoggerFinder")); set != nullptr)
    set(&finder);
}

// Libraries show a list of creators; at level 10 that of all kinds, or the elder one. False: this one shows none.
bool Registry::register_shown(void* library) {
  int32_t count = 0;
#if NV_TENSORRT_MAJOR >= 10
  using All = IPluginCreatorInterface* const* (*)(int32_t&);
  if (const auto all = reinterpret_cast<All>(dlsym(library, "getCreators")); all != nullptr) {
    IPluginCreatorInterface* const* list = all(count);
    for (int32_t i = 0; list != nullptr && i < count; ++i)
      if (list[i] != nullptr) registerCreator(*list[i], "");
    return true;
  }
#endif
  using Elder = IPluginCreator* const* (*)(int32_t&);
  const auto elder = reinterpret_cast<Elder>(dlsym(library, "getPluginCreators"));
  if (elder == nullptr) return false;
  IPluginCreator* const* list = elder(count);
  for (int32_t i = 0; list != nullptr && i < count; ++i)
    if (list[i] != nullptr) registerCreator(*list[i], "");
  return true;
}

// Nothing is new of a library that is loaded again.
void Registry::keep(void* library, bool shows, const std::vector<AnyCreator*>& creators) {
  const std::lock_guard lock(mutex_);
  if (!shows && creators.empty() && !libraries_.contains(library)) {
    refuse(
        "the library registers no creator, and shows neither getCreators() nor "
        "getPluginCreators()");
  }
  Library& kept = libraries_[library];
  kept.creators.insert(kept.creators.end(), creators.begin(), creators.end());
  ++kept.loads;
}

IPluginRegistry::PluginLibraryHandle Registry::loadLibrary(AsciiChar const* pluginPath) noexcept {
  return guarded(reporter(), "IPluginRegistry::loadLibrary", PluginLibraryHandle{}, [&] {
    if (pluginPath == nullptr || *pluginPath == '\0') refuse("no path was given");
    // Of a FIFO the loader would wait for the other end.
    std::error_code unknown;
    if (const auto status = std::filesystem::status(pluginPath, unknown);
        std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      refuse("the path is not one of a regular file");
    std::vector<AnyCreator*> creators;
    const Loading loading(creators);
    void* library = dlopen(pluginPath, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) refuse(dlerror());
    try {
      tell_logger(library);
      keep(library, register_shown(library), creators);
    } catch (...) {
      for (const AnyCreator* creator : creators) remove(creator);
      dlclose(library);
      throw;
    }
    return library;
  });
}

void Registry::deregisterLibrary(PluginLibraryHandle handle) noexcept {
  std::vector<AnyCreator*> creators;
  {
    const std::lock_guard lock(mutex_);
    const auto at = libraries_.find(handle);
    if (at == libraries_.end()) return;
    if (--at->second.loads == 0) {
      creators = std::move(at->second.creators);
      libraries_.erase(at);
    }
  }
  for (const AnyCreator* creator : creators) remove(creator);
  dlclose(handle);
}

#if NV_TENSORRT_MAJOR >= 10
template <class Creator>
Registered registered_v3(Creator& creator, Creator* FoundCreator::*typed,
                         const std::string& space) {
  Registered entry{&creator, {}, {}};
  entry.typed.*typed = &creator;
  entry.name = {word_of(creator.getPluginName()), word_of(creator.getPluginVersion()),
                space.empty() ? word_of(creator.getPluginNamespace()) : space};
  return entry;
}

bool Registry::registerCreator(IPluginCreatorInterface& creator,
                               AsciiChar const* const pluginNamespace) noexcept {
  return guarded(reporter(), "IPluginRegistry::registerCreator", false, [&] {
    need(&creator, "creator");
    const std::string kind = word_of(creator.getInterfaceInfo().kind);
    if (kind == "PLUGIN CREATOR_V1")
      return registerCreator(static_cast<IPluginCreator&>(creator), pluginNamespace);
    const std::string space = word_of(pluginNamespace);
    if (kind == "PLUGIN CREATOR_V3ONE")
      return add(
          registered_v3(static_cast<IPluginCreatorV3One&>(creator), &FoundCreator::v3, space));
    if (kind == "PLUGIN CREATOR_V3QUICK")
      return add(
          registered_v3(static_cast<IPluginCreatorV3Quick&>(creator), &FoundCreator::quick, space));
    refuse("a creator of the kind '" + kind +
           "'; those of IPluginCreator, IPluginCreatorV3One and IPluginCreatorV3Quick are taken");
  });
}

IPluginCreatorInterface* const* Registry::getAllCreators(
    int32_t* const numCreators) const noexcept {
  const std::lock_guard lock(mutex_);
  interfaces_.clear();
  for (const Registered& entry : entries_) interfaces_.push_back(entry.creator);
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(interfaces_.size());
  return interfaces_.data();
}

// There is one registry, which has no parent.
IPluginCreatorInterface* const* Registry::getAllCreatorsRecursive(
    int32_t* const numCreators) noexcept {
  return getAllCreators(numCreators);
}

IPluginCreatorInterface* Registry::getCreator(AsciiChar const* const pluginName,
                                              AsciiChar const* const pluginVersion,
                                              AsciiChar const* const pluginNamespace) noexcept {
  return guarded(reporter(), "IPluginRegistry::getCreator",
                 static_cast<IPluginCreatorInterface*>(nullptr), [&]() -> IPluginCreatorInterface* {
                   const FoundCreator found = find(
                       {word_of(pluginName), word_of(pluginVersion), word_of(pluginNamespace)});
                   if (found.v3 != nullptr) return found.v3;
                   if (found.quick != nullptr) return found.quick;
                   return found.v2;
                 });
}

bool Registry::deregisterCreator(IPluginCreatorInterface const& creator) noexcept {
  return guarded(reporter(), "IPluginRegistry::deregisterCreator", false, [&] {
    need(&creator, "creator");
    return remove(&creator);
  });
}

IPluginResource* Registry::kept_resource(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto at = resources_.find(key);
  if (at == resources_.end()) return nullptr;
  ++at->second.users;
  return at->second.one;
}

// The first user of a key gives what others get; what is kept is a clone. Resources are called without the lock: they may use the registry.
IPluginResource* Registry::acquirePluginResource(AsciiChar const* key,
                                                 IPluginResource* resource) noexcept {
  return guarded(reporter(), "IPluginRegistry::acquirePluginResource",
                 static_cast<IPluginResource*>(nullptr), [&] {
                   if (key == nullptr || resource == nullptr) refuse("no key or no resource");
                   if (IPluginResource* kept = kept_resource(key); kept != nullptr) return kept;
                   std::unique_ptr<IPluginResource> clone(resource->clone());
                   if (clone == nullptr) refuse("clone() of the resource returned a null pointer");
                   IPluginResource* first = nullptr;
                   {
                     const std::lock_guard lock(mutex_);
                     auto [at, is_new] = resources_.try_emplace(key, Resource{clone.get(), 0});
                     ++at->second.users;
                     first = at->second.one;
                     if (is_new) return clone.release();
                   }
                   clone->release();  // another thread was first
                   return first;
                 });
}

int32_t Registry::releasePluginResource(AsciiChar const* key) noexcept {
  return guarded(reporter(), "IPluginRegistry::releasePluginResource", int32_t{-1}, [&] {
    std::unique_ptr<IPluginResource> last;
    {
      const std::lock_guard lock(mutex_);
      const auto at = resources_.find(word_of(key));
      if (at == resources_.end()) refuse("nobody acquired '" + word_of(key) + "'");
      if (--at->second.users > 0) return int32_t{0};
      last.reset(at->second.one);
      resources_.erase(at);
    }
    return last->release();
  });
}
#endif

Registry& own_registry() {
  static Registry* const one = new Registry;  // creators outlive every static object
  return *one;
}

}  // namespace

nvinfer1::IPluginRegistry& registry() { return own_registry(); }
FoundCreator find_creator(const PluginName& name) { return own_registry().find(name); }
std::vector<std::string> creator_spaces(const std::string& type, const std::string& version) {
  return own_registry().spaces(type, version);
}

std::vector<std::string> creator_spaces_of(const std::string& type) {
  return own_registry().spaces(type, "");
}

const char* kept_text(const std::string& text) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const texts = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  return texts->insert(text).first->c_str();
}

}  // namespace octet_trt
