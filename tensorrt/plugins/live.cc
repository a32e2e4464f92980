// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/live.h"

#include <algorithm>

namespace octet_trt {
namespace {

// FNV-1a: short, and the same everywhere.
class Digest {
 public:
  void add(const std::string& text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    mix(0x100);
  }
  void add(int64_t number) { add(std::to_string(number)); }
  std::string text() const {
    std::string hex;
    for (int shift = 60; shift >= 0; shift -= 4) hex += "0123456789abcdef"[state_ >> shift & 15];
    return hex;
  }

 private:
  void mix(uint64_t value) { state_ = (state_ ^ value) * 1099511628211U; }
  uint64_t state_ = 14695981039346656037U;
};

struct Entry {
  std::string key;
  std::weak_ptr<LivePlugin> plugin;
};

struct Table {
  std::mutex mutex;
  std::vector<Entry> plugins;
};

Table& table() {
  static Table* const one = new Table;  // engines of static objects may outlive it
  return *one;
}

}  // namespace

std::string key_of(const PluginRecord& record) {
  Digest digest;
  for (const std::string* text : {&record.name.type, &record.name.version, &record.name.space,
                                  &record.layer, &record.state, &record.signature.type})
    digest.add(*text);
  digest.add(record.implicit ? 1 : 0);
  digest.add(record.signature.inputs);
  if (record.signature.shapes > 0) digest.add("shapes " + std::to_string(record.signature.shapes));
  for (const int32_t rank : record.signature.ranks) digest.add(rank);
  for (const PluginCombo& combo : record.signature.combos)
    for (const TypedFormat& port : combo)
      digest.add(static_cast<int64_t>(port.type) * 256 + static_cast<int64_t>(port.format));
  for (const int32_t output : record.signature.sized) digest.add(output);
  return digest.text();
}

// What is run knows sizes alone: types are those of the first combination that the plugin takes.
SizeSources LivePlugin::typed(SizeSources from) const {
  const PluginCombo& reals = record.signature.combos.front();
  from.types.clear();
  for (size_t i = 0; i < from.inputs.size(); ++i) from.types.push_back(reals[i].type);
  return from;
}

ToldSizes LivePlugin::told_sizes(const SizeSources& from) const {
  if (record.signature.sized.empty()) return {};
  const std::lock_guard lock(mutex_);
  return object_->told_sizes(typed(from));
}

std::vector<Dims> LivePlugin::told_dims(const SizeSources& from, const SizeValues& values) const {
  const std::lock_guard lock(mutex_);
  return object_->told_dims(typed(from), values);
}

std::vector<Dims> LivePlugin::output_dims(const SizeSources& from) const {
  SizeSources seen = typed(from);
  const bool has_batch = record.implicit && !from.inputs.empty();
  if (record.implicit) std::ranges::transform(seen.inputs, seen.inputs.begin(), without_front);
  const std::lock_guard lock(mutex_);
  std::vector<Dims> outputs = object_->output_dims(seen);
  if (has_batch) {
    for (Dims& dims : outputs) dims = with_front(from.inputs[0].d[0], dims);
  }
  return outputs;
}

size_t LivePlugin::workspace(const PluginIo& io) const {
  const std::lock_guard lock(mutex_);
  return object_->workspace(io);
}

int32_t LivePlugin::aliased_input(int32_t output) const {
  const std::lock_guard lock(mutex_);
  return object_->aliased_input(output);
}

// One of the queue that ran these tensors before, or one whose sizes change, or a new one.
LivePlugin::Started LivePlugin::start(const PluginCall& call, bool as_serialized) {
  const std::lock_guard lock(mutex_);
  const auto is_free = [&](const Started& one) { return one.queue == call.queue; };
  const auto at = std::ranges::find_if(
      idle_, [&](const Started& one) { return is_free(one) && same(one.io, call.io); });
  if (at == idle_.end()) {
    const auto other = std::ranges::find_if(idle_.rbegin(), idle_.rend(), is_free);
    if (other != idle_.rend()) {
      Started resized = std::move(*other);
      idle_.erase(std::next(other).base());
      if (resized.object->resize(call.io)) return {call.io, std::move(resized.object), call.queue};
    }
    return {call.io, object_->started(call.io, as_serialized), call.queue};
  }
  Started found = std::move(*at);
  idle_.erase(at);
  return found;
}

void LivePlugin::enqueue(const PluginCall& call, bool as_serialized) {
  Started one = start(call, as_serialized);
  one.object->enqueue(call);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(one));
}

std::shared_ptr<LivePlugin> publish(PluginRecord record, std::unique_ptr<PluginObject> object) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.plugins, [](const Entry& entry) { return entry.plugin.expired(); });
  auto made = std::make_shared<LivePlugin>(std::move(record), std::move(object));
  all.plugins.push_back({made->record.key, made});
  return made;
}

std::shared_ptr<LivePlugin> find_live(const std::string& key) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  for (auto entry = all.plugins.rbegin(); entry != all.plugins.rend(); ++entry) {
    if (entry->key != key) continue;
    if (auto held = entry->plugin.lock()) return held;
  }
  return nullptr;
}

cudaStream_t& current_stream() {
  thread_local cudaStream_t stream = nullptr;
  return stream;
}

}  // namespace octet_trt
