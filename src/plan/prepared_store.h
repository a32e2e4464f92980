// SPDX-License-Identifier: Apache-2.0
// What kernels made of an engine's constants, each once: packed weights are as large as the weights themselves, and the same
// for all contexts, batch sizes and plans that run the same kernel.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/offer.h"

namespace octet {

// Belongs to an engine; any number of threads may ask. It keeps nothing alive: what is prepared goes with its last user.
class PreparedStore {
 public:
  PreparedStore();
  PreparedStore(const PreparedStore&) = delete;
  PreparedStore& operator=(const PreparedStore&) = delete;

  // What `wanted` describes: made now, or by whoever asked before and still uses it. Who asks while another thread makes it
  // waits for that one; if that one fails, the next tries.
  Prepared get(const Preparation& wanted);

  // Of things that are in use or being made.
  size_t size() const;

 private:
  // Constants are known by the bytes they view, not by their contents: copying a graph, specialising it to sizes and relabelling
  // its activations share the storage of its weights, and comparing addresses costs nothing. The key holds the tensors, so that
  // no address is used again while something made of it lives.
  struct Key {
    std::string text;
    std::vector<Tensor> constants;
    bool operator==(const Key& other) const;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    bool in_making = false;
    std::weak_ptr<const void> made;
  };
  // Outlives the store where something prepared does.
  struct State {
    mutable std::mutex mutex;
    std::condition_variable made;
    std::unordered_map<Key, Entry, Hash> entries;

    void forget(const Key& key);
  };

  static Prepared claim(State& state, const Key& key);
  static Prepared publish(const std::shared_ptr<State>& state, const Key& key, Prepared made);

  std::shared_ptr<State> state_;
};

}  // namespace octet
