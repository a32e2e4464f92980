// SPDX-License-Identifier: Apache-2.0
// What programs hand over by type: one usual value, and those that are wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "world.h"

namespace hostile {

// As it crosses the interface: a reference is a pointer.
template <class T>
using Raw =
    std::conditional_t<std::is_reference_v<T>, std::add_pointer_t<std::remove_reference_t<T>>, T>;

template <class T>
struct Value {
  Raw<T> value;
  const char* what;
  bool is_told;  // what is wrong with it must be an error in the log
};
template <class T>
using Values = std::vector<Value<T>>;

// What an argument stands behind tells what a number counts.
enum class Before { kNothing, kList };

template <class T>
using Plain = std::remove_cv_t<std::remove_pointer_t<Raw<T>>>;

// One value of a class that is handed over by reference or by pointer; null where a usual program gives null.
// Of a stream there is a declaration alone.
template <class T>
concept IsData = requires {
  sizeof(T);
}
&&std::is_class_v<T>&& std::is_default_constructible_v<T> && !std::is_polymorphic_v<T>;

template <class T>
T* usual(World& world) {
  if constexpr (std::is_same_v<T, ITensor>) return &world.input();
  if constexpr (std::is_same_v<T, INetworkDefinition>) return &world.network();
  if constexpr (std::is_same_v<T, IBuilderConfig>) return &world.config();
  if constexpr (std::is_same_v<T, IOptimizationProfile>) return &world.profile();
  if constexpr (std::is_same_v<T, ITimingCache>) return &world.timing_cache();
  if constexpr (std::is_same_v<T, ILogger>) return &world.logger;
  if constexpr (std::is_same_v<T, IExecutionContext>) return &world.context();
  if constexpr (std::is_same_v<T, ISerializationConfig>)
    return &world.keep(world.engine().createSerializationConfig());
  if constexpr (std::is_same_v<T, IStreamWriter>) return &world.keep(new Writer);
  if constexpr (std::is_same_v<T, IStreamReader>) return &world.keep(new Reader);
  if constexpr (std::is_same_v<T, IStreamReaderV2>) return &world.keep(new ReaderV2);
  if constexpr (std::is_same_v<T, IPluginV3>) return &world.keep(new Plugin);
  if constexpr (std::is_same_v<T, IPluginV2>) return &world.keep(new ElderPlugin);
  if constexpr (std::is_same_v<T, IPluginCreator>) return &world.keep(new ElderCreator);
  if constexpr (std::is_same_v<T, IPluginCreatorInterface>) return &world.keep(new Creator);
  if constexpr (std::is_same_v<T, IPluginResource>) return &world.keep(new Resource);
  if constexpr (std::is_same_v<T, IDimensionExpr>) {
    return const_cast<IDimensionExpr*>(world.size);
  } else if constexpr (std::is_same_v<T, char>) {
    static char name[] = "x";
    return name;
  } else if constexpr (std::is_same_v<T, Dims>) {
    return &world.keep(new Dims{4, {1, 4, 8, 8}});
  } else if constexpr (std::is_same_v<T, Permutation>) {
    return &world.keep(new Permutation{{0, 2, 1, 3, 4, 5, 6, 7}});
  } else if constexpr (std::is_same_v<T, ITensor*>) {
    world.input();
    return world.tensors;
  } else if constexpr (std::is_same_v<T, void*>) {
    return world.bindings;
  } else if constexpr (std::is_same_v<T, char const*>) {
    return world.texts;
  } else if constexpr (std::is_same_v<T, void>) {
    return world.memory.data();
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>) {
    return reinterpret_cast<T*>(world.memory.data());
  } else if constexpr (IsData<T>) {
    return &world.keep(new T{});
  } else {
    return nullptr;
  }
}

template <class T>
constexpr T usual_number(Before before) {
  return before == Before::kList ? T{2} : T{1};
}

template <class T>
Raw<T> usual_value(World& world, Before before) {
  if constexpr (std::is_pointer_v<Raw<T>>) {
    return usual<Plain<T>>(world);
  } else if constexpr (std::is_same_v<T, Weights>) {
    return Weights{DataType::kFLOAT, world.values, 16};
  } else if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return usual_number<T>(before);
  } else {
    return T{};
  }
}

template <class T>
void wrong_numbers(Values<T>& all, Before before) {
  using Limits = std::numeric_limits<T>;
  all.push_back({T{0}, "0", false});
  if constexpr (std::is_floating_point_v<T>) {
    all.push_back({Limits::quiet_NaN(), "NaN", false});
    all.push_back({Limits::infinity(), "infinity", false});
    all.push_back({-1, "-1", false});
    return;
  }
  if constexpr (std::is_signed_v<T>) {
    all.push_back({static_cast<T>(-1), "-1", false});
    all.push_back({Limits::min(), "the least number", false});
  }
  // Of a list there is not more: what is said of memory that is there cannot be checked.
  if (before == Before::kNothing) all.push_back({Limits::max(), "the greatest number", false});
}

inline void wrong_sizes(World& world, Values<Dims const&>& all) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto add = [&](Dims dims, const char* what) {
    all.push_back({&world.keep(new Dims(dims)), what, false});
  };
  add({-1, {}}, "-1 dimensions");
  add({9, {1, 1, 1, 1, 1, 1, 1, 1}}, "nine dimensions");
  add({std::numeric_limits<int32_t>::max(), {}}, "2^31 - 1 dimensions");
  add({0, {}}, "no dimensions");
  add({4, {-5, -5, -5, -5}}, "negative sizes");
  add({4, {0, 0, 0, 0}}, "sizes of zero");
  add({8, {kMost, kMost, kMost, kMost, kMost, kMost, kMost, kMost}}, "eight sizes of 2^63 - 1");
  add({2, {kMost, 1}}, "a size of 2^63 - 1");
}

inline void wrong_permutations(World& world, Values<Permutation const&>& all) {
  for (const int32_t wrong : {-1, 8, 0, 1 << 30}) {
    auto& order = world.keep(new Permutation{});
    std::fill_n(order.order, Dims::MAX_DIMS, wrong);
    all.push_back({&order, "a permutation that is none", false});
  }
}

// Of what crosses as a pointer.
template <class T>
void wrong_pointers(World& world, Values<T>& all) {
  using P = Plain<T>;
  // A reference to an object is never null; what pointers may be null is in quiet.def. What a plugin does wrong in a call is told when the
  // call has ended.
  const bool is_object = std::is_class_v<P> && std::is_reference_v<T> && world.size == nullptr;
  all.push_back({nullptr, "null", is_object});
  if constexpr (std::is_same_v<T, char const*>) {
    all.push_back({"", "no text", false});
    all.push_back({"\xff\xfe\x80 %s%n", "a text that is no UTF-8", false});
    all.push_back({world.keep(new std::string(100000, 'n')).c_str(), "a long text", false});
  }
  if constexpr (std::is_same_v<T, Dims const&>) wrong_sizes(world, all);
  if constexpr (std::is_same_v<T, Permutation const&>) wrong_permutations(world, all);
  if constexpr (std::is_same_v<P, ITensor>) {
    all.push_back({&world.foreign(), "another network's", true});
    all.push_back({&world.integers(), "whole numbers", false});
  }
  if constexpr (std::is_same_v<P, ITensor*>)
    all.push_back({world.keep(new std::vector<ITensor*>(8)).data(), "a list of null", true});
  if constexpr (std::is_same_v<P, void*>)
    all.push_back({world.keep(new std::vector<void*>(8)).data(), "a list of null", true});
  if constexpr (std::is_same_v<T, char const* const*>)
    all.push_back({world.keep(new std::vector<const char*>(16)).data(), "a list of null", false});
}

inline void wrong_weights(World& world, Values<Weights>& all) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  all.push_back({{static_cast<DataType>(99), world.values, 16}, "weights of no type", false});
  all.push_back({{DataType::kFLOAT, nullptr, 5}, "five weights at null", false});
  all.push_back({{DataType::kFLOAT, world.values, -1}, "-1 weights", false});
  all.push_back({{DataType::kFLOAT, world.values, kMost}, "2^63 - 1 weights", false});
  all.push_back({{DataType::kFLOAT, nullptr, 0}, "no weights", false});
  all.push_back({{DataType::kINT4, world.values, 16}, "weights of four bits", false});
}

template <class T>
Values<T> wrong_values(World& world, Before before) {
  Values<T> all;
  if constexpr (std::is_pointer_v<Raw<T>>) {
    wrong_pointers<T>(world, all);
  } else if constexpr (std::is_same_v<T, Weights>) {
    wrong_weights(world, all);
  } else if constexpr (std::is_enum_v<T>) {
    for (const int32_t number : {-1, 33, 1000, std::numeric_limits<int32_t>::min()})
      all.push_back({static_cast<T>(number), "a number without a name", world.size == nullptr});
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    wrong_numbers<T>(all, before);
  }
  return all;
}

}  // namespace hostile
