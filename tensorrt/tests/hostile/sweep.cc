// SPDX-License-Identifier: Apache-2.0
// Every function of every table (tests/abi_slots.def), called as wrong programs call it: null for each object, numbers that no enumeration has,
// sizes and indices beyond all, objects of another network. What is wrong is an error in the log, and null or false; afterwards the program
// builds or runs what it has, and destroys all of it. Each function has a process of its own, so a crash names its function and its argument.
//   tensorrt_hostile [PART OF A NAME...]   exit code 0: nothing crashed, and all was told
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>
#include <tuple>
#include <utility>

#include "objects.h"
#include "stories.h"
#include "values.h"

namespace hostile {
namespace {

constexpr int kSeconds = 60;                 // of one function; a hang is a failure
constexpr rlim_t kMemory = rlim_t{8} << 30;  // bytes; who takes more gets none
constexpr int kAllUsual = 0;                 // of the cases of a function the first

// What is not told, and why it need not be; argument -1 is every one.
struct Quiet {
  const char* name;
  int argument;
};
constexpr Quiet kQuiet[] = {
#define QUIET(name, argument, why) {name, argument},
#include "quiet.def"
#undef QUIET
};

// Classes of which the library makes no object: programs derive from them, or what would make one is refused (refused_test.cc).
constexpr const char* kNoObject[] = {
#define CLIENTS(Class) #Class,
#define REFUSED(Class) #Class,
#include "classes.def"
#undef CLIENTS
#undef REFUSED
};

// What a child tells its parent, also when it dies.
struct Progress {
  int at;        // the case that runs
  int failures;  // so far
  char what[256];
};
Progress* progress = nullptr;

struct Slot {
  const char* class_name;
  const char* name;
  int place;
  void (*with)(World&, const Call&);  // the object; null: there is none
  void (*sweep)(const Slot&, int first);
};

bool is_quiet(const std::string& name, int argument) {
  for (const Quiet& quiet : kQuiet)
    if (name == quiet.name && (quiet.argument == argument || quiet.argument == -1)) return true;
  return false;
}

void fail(const Slot& slot, const std::string& what) {
  std::printf("%s::%s: %s: %s\n", slot.class_name, slot.name, progress->what, what.c_str());
  std::fflush(stdout);
  ++progress->failures;
}

// What a refusal gives: null, false.
template <class Result>
bool is_nothing(const Result& result) {
  if constexpr (std::is_pointer_v<Result>) return result == nullptr;
  if constexpr (std::is_same_v<Result, bool>) return !result;
  return true;
}

template <class Result, class... Arguments>
class Sweep {
 public:
  Sweep(const Slot& slot, int first) : slot_(slot), first_(first) {}

  void run() {
    one("usual values", [](World&, auto&) { return false; });
    if constexpr (sizeof...(Arguments) > 0) {
      each(std::index_sequence_for<Arguments...>());
      one("all wrong", [](World& world, Raws& raws) {
        wrong_first(world, raws, std::index_sequence_for<Arguments...>());
        return false;
      });
    }
  }

 private:
  using Raws = std::tuple<Raw<Arguments>...>;
  template <size_t i>
  using Argument = std::tuple_element_t<i, std::tuple<Arguments...>>;

  // A number behind a list counts it.
  template <size_t i>
  static constexpr Before before() {
    if constexpr (i > 0) {
      using Last = Argument<i - 1>;
      const bool is_text = std::is_same_v<Plain<Last>, char>;
      if (std::is_pointer_v<Last> && !is_text) return Before::kList;
    }
    return Before::kNothing;
  }

  template <size_t... all>
  static Raws usual_all(World& world, std::index_sequence<all...>) {
    return Raws{usual_value<Argument<all>>(world, before<all>())...};
  }

  template <size_t... all>
  static void wrong_first(World& world, Raws& raws, std::index_sequence<all...>) {
    const auto change = [&]<size_t i>(std::integral_constant<size_t, i>) {
      const auto values = wrong_values<Argument<i>>(world, before<i>());
      if (!values.empty()) std::get<i>(raws) = values[0].value;
    };
    (change(std::integral_constant<size_t, all>()), ...);
  }

  template <size_t... all>
  void each(std::index_sequence<all...>) {
    (wrong<all>(), ...);
  }

  template <size_t i>
  void wrong() {
    size_t count = 1;
    for (size_t j = 0; j < count; ++j) {
      one("argument " + std::to_string(i), [&](World& world, Raws& raws) {
        const auto values = wrong_values<Argument<i>>(world, before<i>());
        count = values.size();
        if (j >= count) return false;
        std::get<i>(raws) = values[j].value;
        std::snprintf(progress->what, sizeof progress->what, "argument %zu is %s", i,
                      values[j].what);
        return values[j].is_told && !is_quiet(std::string(slot_.class_name) + "::" + slot_.name, i);
      });
      // Cases that a process before this one ran were not counted.
      if (skipped_) {
        World world;
        count = wrong_values<Argument<i>>(world, before<i>()).size();
      }
    }
  }

  template <class Change>
  void one(const std::string& what, const Change& change) {
    const int at = next_++;
    skipped_ = at < first_;
    if (skipped_) return;
    progress->at = at;
    std::snprintf(progress->what, sizeof progress->what, "%s", what.c_str());
    World world;
    slot_.with(world, [&](void* object) {
      Raws raws = usual_all(world, std::index_sequence_for<Arguments...>());
      const bool is_told = change(world, raws);
      call(world, object, raws, is_told);
    });
    world.use();
  }

  void call(World& world, void* object, const Raws& raws, bool is_told) {
    void** table = *static_cast<void***>(object);
    using Function = Result (*)(void*, Raw<Arguments>...);
    const auto function = reinterpret_cast<Function>(table[slot_.place]);
    const int before = world.logger.errors;
    bool refused = true;
    if constexpr (std::is_void_v<Result>) {
      std::apply([&](auto... values) { function(object, values...); }, raws);
    } else {
      const Result result =
          std::apply([&](auto... values) { return function(object, values...); }, raws);
      refused = is_nothing(result);
    }
    if (!is_told) return;
    if (world.logger.errors == before) fail(slot_, "nothing was told");
    if (!refused) fail(slot_, "it was taken");
  }

  const Slot& slot_;
  const int first_;
  int next_ = kAllUsual;
  bool skipped_ = false;
};

template <class Class>
concept HasObject = requires(World& world, const Call& call) {
  with(Tag<Class>(), world, call);
};

template <class Function>
struct Signature;
#define HOSTILE_SIGNATURE(qualifiers)                            \
  template <class Class, class Result, class... Arguments>       \
  struct Signature<Result (Class::*)(Arguments...) qualifiers> { \
    using Type = Sweep<Raw<Result>, Arguments...>;               \
  };
HOSTILE_SIGNATURE()
HOSTILE_SIGNATURE(const)
HOSTILE_SIGNATURE(noexcept)
HOSTILE_SIGNATURE(const noexcept)
#undef HOSTILE_SIGNATURE

template <class Class, class Function>
Slot slot(const char* class_name, const char* name, int place, Function) {
  Slot made{class_name, name, place, nullptr, [](const Slot& own, int first) {
              typename Signature<Function>::Type(own, first).run();
            }};
  if constexpr (HasObject<Class>)
    made.with = [](World& world, const Call& call) { with(Tag<Class>(), world, call); };
  return made;
}

std::vector<Slot> all_slots() {
  return {
#define SLOT(Class, place, function) slot<Class>(#Class, #function, place, &Class::function),
#define SLOT_AS(Class, place, function, label, ...) \
  slot<Class>(#Class, #label, place, static_cast<__VA_ARGS__>(&Class::function)),
#include "abi_slots.def"
#undef SLOT
#undef SLOT_AS
  };
}

void limit() {
  const rlimit memory{kMemory, kMemory}, none{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
  alarm(kSeconds);
}

// The cases of one function from `first` on; the status of the process.
int in_child(const Slot& slot, int first) {
  const pid_t child = fork();
  if (child == 0) {
    limit();
    slot.sweep(slot, first);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void sweep(const Slot& slot) {
  for (int first = kAllUsual, crashes = 0; crashes < 50; ++crashes) {
    progress->at = first;
    const int status = in_child(slot, first);
    if (status == 0) return;
    const bool is_signal = WIFSIGNALED(status);
    fail(slot, is_signal ? std::string("died of ") + strsignal(WTERMSIG(status))
                         : "ended with " + std::to_string(WEXITSTATUS(status)));
    first = progress->at + 1;
  }
}

// Places of their own beside the tables: what is destroyed in another order than TensorRT's documentation asks for, the C functions, libraries
// of plugins.
constexpr Slot kStories[] = {
#define STORY(name) {"story", #name, 0, nullptr, [](const Slot&, int) { stories::name(); }},
#include "stories.def"
#undef STORY
};

bool is_asked(const Slot& slot, int count, char** parts) {
  const std::string name = std::string(slot.class_name) + "::" + slot.name;
  for (int i = 1; i < count; ++i)
    if (name.find(parts[i]) != std::string::npos) return true;
  return count == 1;
}

int main(int count, char** parts) {
  void* shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  progress = new (shared) Progress{};
  int swept = 0, others = 0;
  for (const Slot& slot : all_slots()) {
    if (!is_asked(slot, count, parts)) continue;
    if (slot.with != nullptr) {
      sweep(slot);
      ++swept;
      continue;
    }
    ++others;
    bool is_named = false;
    for (const char* name : kNoObject)
      is_named = is_named || std::string_view(name) == slot.class_name;
    if (!is_named)
      fail(slot, "no object of the class is made here, and classes.def does not say why");
  }
  for (const Slot& story : kStories) {
    if (!is_asked(story, count, parts)) continue;
    progress->at = kAllUsual;
    std::snprintf(progress->what, sizeof progress->what, "begun");
    if (const int status = in_child(story, kAllUsual); status != 0)
      fail(story, WIFSIGNALED(status) ? std::string("died of ") + strsignal(WTERMSIG(status))
                                      : "ended with " + std::to_string(WEXITSTATUS(status)));
    ++swept;
  }
  std::printf("%d functions, %d of classes without objects of the library; %d failures\n", swept,
              others, progress->failures);
  return progress->failures == 0 && swept > 0 ? 0 : 1;
}

}  // namespace
}  // namespace hostile

int main(int count, char** parts) { return hostile::main(count, parts); }
