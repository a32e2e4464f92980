// SPDX-License-Identifier: Apache-2.0
#include "plan/prepared_store.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace octet {

bool PreparedStore::Key::operator==(const Key& other) const {
  return text == other.text &&
         std::ranges::equal(constants, other.constants, [](const Tensor& a, const Tensor& b) {
           return a.data() == b.data() && a.type() == b.type();
         });
}

size_t PreparedStore::Hash::operator()(const Key& key) const {
  size_t hash = std::hash<std::string>()(key.text);
  for (const Tensor& tensor : key.constants)
    hash = hash * 31 + std::hash<const std::byte*>()(tensor.data());
  return hash;
}

PreparedStore::PreparedStore() : state_(std::make_shared<State>()) {}

size_t PreparedStore::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->entries.size();
}

// What is there, or null where the caller has to make it.
Prepared PreparedStore::claim(State& state, const Key& key) {
  std::unique_lock lock(state.mutex);
  for (;;) {
    Entry& entry = state.entries[key];
    if (Prepared made = entry.made.lock()) return made;
    if (!entry.in_making) {
      entry.in_making = true;
      return nullptr;
    }
    state.made.wait(lock);
  }
}

// Of something that is used no more, or could not be made. Its key may meanwhile stand for the next of its kind.
void PreparedStore::State::forget(const Key& key) {
  decltype(entries)::node_type gone;  // its tensors go after the lock does
  const std::lock_guard lock(mutex);
  const auto at = entries.find(key);
  const bool used = at == entries.end() || at->second.in_making || !at->second.made.expired();
  if (!used) gone = entries.extract(at);
}

Prepared PreparedStore::publish(const std::shared_ptr<State>& state, const Key& key,
                                Prepared made) {
  // The last user of `shared` leaves no trace of it.
  struct Release {
    std::shared_ptr<State> state;
    Key key;
    Prepared made;
    void operator()(const void*) {
      const std::shared_ptr<State> owner = std::move(state);
      made.reset();
      owner->forget(key);
    }
  };
  const void* object = made.get();
  Prepared shared(object, Release{state, key, std::move(made)});
  const std::lock_guard lock(state->mutex);
  Entry& entry = state->entries[key];
  entry.made = shared;
  entry.in_making = false;
  state->made.notify_all();
  return shared;
}

Prepared PreparedStore::get(const Preparation& wanted) {
  if (wanted.key.empty()) return wanted.make();
  const Key key{wanted.key, wanted.constants};
  if (Prepared made = claim(*state_, key)) return made;
  try {
    return publish(state_, key, wanted.make());
  } catch (...) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->entries[key].in_making = false;
    }
    state_->forget(key);
    state_->made.notify_all();
    throw;
  }
}

}  // namespace octet
