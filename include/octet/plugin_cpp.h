// SPDX-License-Identifier: Apache-2.0
// A thin layer of C++17 over octet/plugin.h, all in this header: an operator is a class, a combination is a member function, an
// exception becomes a status. Nothing of Octet is linked.
//
//   struct Twice {
//     explicit Twice(const octet::plugin::Attributes&) {}
//     void shapes(octet::plugin::Shapes& s) const { s.output(0) = s.input(0); }
//     void reals(octet::plugin::Call& c) const { ... c.input(0).data<float>() ... }
//   };
//   static octet::plugin::Library make() {
//     using namespace octet::plugin;
//     return Library("mine", "1.0").add(Operator<Twice>("org.mine", "Twice", 1)
//         .input({"x"}).output({"y"}).shapes<&Twice::shapes>()
//         .combination<&Twice::reals>("reals", {f32()}, {f32()}));
//   }
//   OCTET_PLUGIN(make())
#pragma once

#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "octet/plugin.h"
#include "octet/plugin_view.h"

namespace octet::plugin {

namespace detail {

inline void say(char* message, uint64_t capacity, const char* text) {
  if (message != nullptr && capacity > 0) std::snprintf(message, capacity, "%s", text);
}

// Runs a function of the plugin; nothing that it throws leaves.
template <class Body>
int32_t guarded(char* message, uint64_t capacity, const Body& body) noexcept {
  try {
    body();
    return OCTET_PLUGIN_OK;
  } catch (const Refused& refused) {
    say(message, capacity, refused.what());
    return OCTET_PLUGIN_REFUSED;
  } catch (const std::exception& error) {
    say(message, capacity, error.what());
  } catch (...) {
    say(message, capacity, "an exception that is no std::exception");
  }
  return OCTET_PLUGIN_FAILED;
}

template <class M>
struct ClassOf;
template <class T, class R, class... A>
struct ClassOf<R (T::*)(A...) const> {
  using type = T;
};

template <auto method>
const auto& instance_of(const octet_plugin_call* call) {
  return *static_cast<const typename ClassOf<decltype(method)>::type*>(call->instance);
}

template <auto method>
int32_t run(octet_plugin_call* call) {
  return guarded(call->message, call->message_capacity, [&] {
    Call view(*call);
    (instance_of<method>(call).*method)(view);
  });
}

template <auto method>
int32_t infer(octet_plugin_call* call) {
  return guarded(call->message, call->message_capacity, [&] {
    Shapes view(*call);
    (instance_of<method>(call).*method)(view);
  });
}

template <auto method>
int64_t workspace(octet_plugin_call* call) {
  int64_t bytes = -1;
  guarded(call->message, call->message_capacity, [&] {
    const Call view(*call);
    bytes = (instance_of<method>(call).*method)(view);
  });
  return bytes;
}

template <auto method>
double cost(octet_plugin_call* call) {
  double cycles = -1;
  guarded(call->message, call->message_capacity, [&] {
    const Call view(*call);
    cycles = (instance_of<method>(call).*method)(view);
  });
  return cycles;
}

template <class T>
int32_t create(octet_plugin_creation* creation) {
  return guarded(creation->message, creation->message_capacity,
                 [&] { creation->instance = new T(Attributes(*creation)); });
}

template <class T>
void destroy(const octet_plugin_operator*, void* instance) {
  delete static_cast<T*>(instance);
}

template <auto method>
int64_t serialize(const octet_plugin_operator*, const void* instance, void* buffer,
                  uint64_t capacity) {
  using T = typename ClassOf<decltype(method)>::type;
  int64_t bytes = -1;
  guarded(nullptr, 0, [&] {
    const std::string state = (static_cast<const T*>(instance)->*method)();
    if (state.size() <= capacity && buffer != nullptr)
      std::memcpy(buffer, state.data(), state.size());
    bytes = static_cast<int64_t>(state.size());
  });
  return bytes;
}

}  // namespace detail

// A port of an operator.
struct Port {
  const char* name;
  uint32_t flags = 0;
  int32_t min_rank = 0, max_rank = OCTET_PLUGIN_MAX_RANK;
  uint32_t min_count = 1;  // of a variadic one
};

// What an operator declares. Texts must be literals, or live as long as the library.
class Declared {
 public:
  Declared() = default;
  Declared(Declared&&) =
      default;  // what is declared points into itself, and deques move as a whole
  virtual ~Declared() = default;
  // Throws std::logic_error for what was declared of nothing, and for lists of formats that do not go with the ports.
  const octet_plugin_operator* get() {
    for (size_t i = 0; i < combinations_.size(); ++i) {
      check_formats(combinations_[i].name, formats_[2 * i].size(), inputs_.size(), "inputs");
      check_formats(combinations_[i].name, formats_[2 * i + 1].size(), outputs_.size(), "outputs");
    }
    op_.attribute_count = attributes_.size();
    op_.attributes = attributes_.data();
    op_.input_count = inputs_.size();
    op_.inputs = inputs_.data();
    op_.output_count = outputs_.size();
    op_.outputs = outputs_.data();
    op_.combination_count = combinations_.size();
    op_.combinations = combinations_.data();
    op_.case_count = cases_.size();
    op_.cases = cases_.data();
    return &op_;
  }

 protected:
  [[noreturn]] void wrong(const std::string& what) const {
    throw std::logic_error(std::string("operator '") + op_.name + "': " + what);
  }
  void check_formats(const char* combination, size_t has, size_t ports, const char* side) const {
    if (has != ports)
      wrong(std::string("combination '") + combination + "' has formats for " +
            std::to_string(has) + " " + side + " of " + std::to_string(ports));
  }
  octet_plugin_attribute& last_attribute(const char* of) {
    if (attributes_.empty()) wrong(std::string(of) + " stands before any attribute");
    return attributes_.back();
  }
  octet_plugin_combination& last_combination(const char* of) {
    if (combinations_.empty()) wrong(std::string(of) + " stands before any combination");
    return combinations_.back();
  }
  octet_plugin_value& value(const char* name, uint32_t type, uint64_t count) {
    values_.push_back(
        {sizeof(octet_plugin_value), name, type, 0, count, nullptr, nullptr, nullptr});
    return values_.back();
  }
  void attribute(const char* name, uint32_t type, const octet_plugin_value* otherwise) {
    attributes_.push_back(
        {sizeof(octet_plugin_attribute), name, type, 0, otherwise, 0, 0, 0, 0, nullptr});
  }

  octet_plugin_operator op_ = {};
  std::deque<std::vector<int64_t>> ints_;
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<int32_t>> ranks_;
  std::deque<std::vector<octet_plugin_format>> formats_;
  std::deque<std::vector<octet_plugin_value>> case_values_;
  std::deque<octet_plugin_value> values_;
  std::vector<octet_plugin_attribute> attributes_;
  std::vector<octet_plugin_port> inputs_, outputs_;
  std::vector<octet_plugin_combination> combinations_;
  std::vector<octet_plugin_case> cases_;
};

// An operator whose instances are of class T: made of Attributes once, const afterwards.
template <class T>
class Operator : public Declared {
 public:
  Operator(const char* domain, const char* name, uint32_t version) {
    op_.size = sizeof op_;
    op_.name = name;
    op_.domain = domain;
    op_.version = version;
    op_.flags = OCTET_OPERATOR_CONCURRENT;
    op_.create = detail::create<T>;
    op_.destroy = detail::destroy<T>;
  }

  // OCTET_OPERATOR_...; CONCURRENT is set already.
  Operator& flags(uint32_t more) {
    op_.flags |= more;
    return *this;
  }
  Operator& one_at_a_time() {
    op_.flags &= ~uint32_t{OCTET_OPERATOR_CONCURRENT};
    return *this;
  }

  // Attributes with a default, or required ones; then limits of the one added last.
  Operator& integer(const char* name, int64_t otherwise) {
    return integers(name, {otherwise}, OCTET_ATTRIBUTE_INT);
  }
  Operator& integers(const char* name, std::vector<int64_t> otherwise,
                     uint32_t type = OCTET_ATTRIBUTE_INTS) {
    octet_plugin_value& v = value(name, type, otherwise.size());
    v.ints = ints_.emplace_back(std::move(otherwise)).data();
    attribute(name, type, &v);
    return *this;
  }
  Operator& real(const char* name, float otherwise) {
    return reals(name, {otherwise}, OCTET_ATTRIBUTE_FLOAT);
  }
  Operator& reals(const char* name, std::vector<float> otherwise,
                  uint32_t type = OCTET_ATTRIBUTE_FLOATS) {
    octet_plugin_value& v = value(name, type, otherwise.size());
    v.floats = floats_.emplace_back(std::move(otherwise)).data();
    attribute(name, type, &v);
    return *this;
  }
  Operator& text(const char* name, const char* otherwise, const char* choices = nullptr) {
    octet_plugin_value& v = value(name, OCTET_ATTRIBUTE_TEXT, std::strlen(otherwise));
    v.text = otherwise;
    attribute(name, OCTET_ATTRIBUTE_TEXT, &v);
    attributes_.back().choices = choices;
    return *this;
  }
  Operator& required(const char* name, uint32_t type) {
    attribute(name, type, nullptr);
    return *this;
  }
  Operator& between(double least, double most) {
    octet_plugin_attribute& last = last_attribute("between()");
    last.least = least;
    last.most = most;
    return *this;
  }
  Operator& count(uint64_t min, uint64_t max) {
    octet_plugin_attribute& last = last_attribute("count()");
    last.min_count = min;
    last.max_count = max;
    return *this;
  }

  Operator& input(const Port& port) {
    inputs_.push_back({sizeof(octet_plugin_port), port.name, port.flags, port.min_count,
                       port.min_rank, port.max_rank});
    return *this;
  }
  Operator& output(const Port& port) {
    outputs_.push_back({sizeof(octet_plugin_port), port.name, port.flags, port.min_count,
                        port.min_rank, port.max_rank});
    return *this;
  }

  template <auto method>  // void (Shapes&) const
  Operator& shapes() {
    op_.infer = detail::infer<method>;
    return *this;
  }
  template <auto method>  // std::string () const
  Operator& state() {
    op_.serialize = detail::serialize<method>;
    return *this;
  }

  // method: void (Call&) const. The formats are those of the inputs and of the outputs, in order.
  template <auto method>
  Operator& combination(const char* name, std::vector<octet_plugin_format> inputs,
                        std::vector<octet_plugin_format> outputs,
                        uint32_t device = OCTET_DEVICE_HOST) {
    octet_plugin_combination c = {};
    c.size = sizeof c;
    c.name = name;
    c.device = device;
    c.inputs = formats_.emplace_back(std::move(inputs)).data();
    c.outputs = formats_.emplace_back(std::move(outputs)).data();
    c.run = detail::run<method>;
    combinations_.push_back(c);
    return *this;
  }
  // Of the combination added last: int64_t (const Call&) const, double (const Call&) const.
  template <auto method>
  Operator& workspace() {
    last_combination("workspace()").workspace = detail::workspace<method>;
    return *this;
  }
  template <auto method>
  Operator& cost() {
    last_combination("cost()").cost = detail::cost<method>;
    return *this;
  }

  // Input shapes that fit together, and attributes beside the defaults, for `octet plugin check`.
  Operator& example(const std::vector<Dims>& inputs,
                    std::vector<octet_plugin_value> attributes = {}) {
    auto& ranks = ranks_.emplace_back();
    auto& dims = ints_.emplace_back();
    for (const Dims& shape : inputs) {
      ranks.push_back(static_cast<int32_t>(shape.size()));
      dims.insert(dims.end(), shape.begin(), shape.end());
    }
    const auto& values = case_values_.emplace_back(std::move(attributes));
    cases_.push_back({sizeof(octet_plugin_case), values.size(), values.data(), ranks.size(),
                      ranks.data(), dims.data()});
    return *this;
  }
};

class Library {
 public:
  Library(const char* name, const char* version) : name_(name), version_(version) {}

  template <class T>
  Library& add(Operator<T>& op) {
    operators_.push_back(std::make_unique<Operator<T>>(std::move(op)));
    return *this;
  }
  template <class T>
  Library& add(Operator<T>&& op) {
    return add(op);
  }

  const octet_plugin* get() {
    pointers_.clear();
    for (const auto& op : operators_) pointers_.push_back(op->get());
    plugin_ = {sizeof plugin_,   OCTET_PLUGIN_ABI, 0, name_, version_,
               pointers_.size(), pointers_.data()};
    return &plugin_;
  }

 private:
  const char* name_;
  const char* version_;
  std::vector<std::unique_ptr<Declared>> operators_;
  std::vector<const octet_plugin_operator*> pointers_;
  octet_plugin plugin_ = {};
};

}  // namespace octet::plugin

// Defines the library's entry from an expression that makes its Library.
#define OCTET_PLUGIN(make)                                               \
  extern "C" OCTET_PLUGIN_EXPORT const octet_plugin* octet_plugin_entry( \
      const octet_plugin_host*) {                                        \
    static octet::plugin::Library library = make;                        \
    return library.get();                                                \
  }
