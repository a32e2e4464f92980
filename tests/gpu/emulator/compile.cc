// SPDX-License-Identifier: Apache-2.0
#include "compile.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "image.h"
#include "source.h"

extern char** environ;

namespace octet::emulator {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFlags[] = {"-O1",
                                  "-std=c++20",
                                  "-fPIC",
                                  "-shared",
                                  "-ffp-contract=off",
                                  "-fno-math-errno",
                                  "-w",
                                  "-fno-strict-aliasing",
                                  "-fwrapv",
                                  "-fno-exceptions",
                                  "-fno-rtti",
                                  "-fno-gnu-unique",
                                  "-fno-threadsafe-statics",
                                  "-fno-stack-protector",
                                  "-fstack-clash-protection",
                                  "-U_FORTIFY_SOURCE",
                                  "-msse4.1",
                                  "-fvisibility=hidden",
                                  "-pipe",
                                  "-nostdlib"};

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : otherwise;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

// Nobody else's: what lies in it is run.
bool make_own_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  mkdir(folder.c_str(), 0700);
  struct stat status;
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & 022) == 0;
}

fs::path cache_folder() {
  std::error_code error;
  const std::string name = "octet_emulated_" + std::to_string(geteuid());
  return environment("OCTET_EMULATED_CACHE", (fs::temp_directory_path(error) / name).string());
}

std::string compiler() { return environment("OCTET_EMULATED_CXX", "g++"); }

// The compiler, and what it puts around every source.
std::string surroundings() {
  const fs::path folder = OCTET_EMULATOR_SOURCES;
  std::string all = compiler() + '\0' + __VERSION__ + '\0';
  for (const char* part : {"abi.h", "shim.h", "words.h", "hopper_words.h"})
    all += read(folder / part) + '\0';
  for (const char* flag : kFlags) all += flag + std::string(1, '\0');
  return all;
}

std::string hash(const std::string& source, const std::vector<std::string>& defines) {
  std::string all = surroundings();
  for (const std::string& define : defines) all += define + '\0';
  all += source;
  const XXH128_hash_t value = XXH3_128bits(all.data(), all.size());
  char text[33];
  snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(value.high64),
           static_cast<unsigned long long>(value.low64));
  return text;
}

// Files of one compilation; gone with it.
class Scratch {
 public:
  explicit Scratch(const fs::path& folder) {
    static std::atomic<int> count = 0;
    base_ = folder / ("tmp." + std::to_string(getpid()) + "." + std::to_string(count++));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (const char* suffix : {".cu", ".ii", ".cc", ".log", ".so"}) unlink(path(suffix).c_str());
  }
  std::string path(const char* suffix) const { return base_.string() + suffix; }

 private:
  fs::path base_;
};

// Runs `command` with its words for errors in `log`; false also where it cannot be started.
bool run(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    write(log, command[0] + " cannot be run (" + std::strerror(error) +
                   "): the emulated GPU compiles kernels with it\n");
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool preprocess(const Scratch& files, const std::vector<std::string>& defines) {
  std::vector<std::string> command = {compiler(), "-std=c++20", "-E", "-w", "-x", "c++"};
  command.insert(command.end(), {"-DOCTET_EMULATED", "-D__CUDACC__", "-D__CUDACC_RTC__"});
  command.insert(command.end(), defines.begin(), defines.end());
  command.insert(command.end(), {files.path(".cu"), "-o", files.path(".ii")});
  return run(command, files.path(".log"));
}

bool build(const Scratch& files, const std::vector<std::string>& defines) {
  std::vector<std::string> command = {compiler()};
  command.insert(command.end(), defines.begin(), defines.end());
  for (const char* flag : kFlags) command.emplace_back(flag);
  command.insert(command.end(), {"-I", OCTET_EMULATOR_SOURCES, files.path(".cc"), "-o",
                                 files.path(".so"), "-lm", "-lc"});
  return run(command, files.path(".log"));
}

// The folder's name is no news to who wrote the source.
std::string log_of(const Scratch& files) {
  std::string log = read(files.path(".log"));
  for (const char* suffix : {".cu", ".cc"}) {
    const std::string name = files.path(suffix);
    for (size_t at = 0; (at = log.find(name, at)) != std::string::npos;)
      log.replace(at, name.size(), "kernel");
  }
  return log;
}

// What stands from `begin` to before `end`.
void replace_part(std::string& text, std::string_view begin, std::string_view end,
                  std::string_view other) {
  const size_t from = text.find(begin), to = text.find(end, from);
  if (from != std::string::npos && to != std::string::npos) text.replace(from, to - from, other);
}

// Hopper's instructions (device/hopper.cuh) are PTX, and copies of the prelude come at once: words of this folder take their place.
std::string with_own_words(std::string text) {
  replace_part(text, "// Begin of Hopper's instructions.", "// End of Hopper's instructions.",
               "#include \"" OCTET_EMULATOR_SOURCES "/hopper_words.h\"\n");
  const size_t copies = text.find("static inline void copy_async16(");
  constexpr std::string_view kLast = "static inline void copy_async_wait() {}";
  const size_t last = text.find(kLast);
  if (copies != std::string::npos && last != std::string::npos)
    text.erase(copies, last + kLast.size() - copies);
  replace_part(text, "void wait_for_predecessor() {}\n#endif", "\n#endif",
               "void wait_for_predecessor() { emulated_wait_for_predecessor(); }");
  return text;
}

Compiled compile_into(const fs::path& kept, const std::string& source,
                      const std::vector<std::string>& defines) {
  const Scratch files(kept.parent_path());
  write(files.path(".cu"), with_own_words(source));
  if (!preprocess(files, defines)) return {false, "", log_of(files)};
  write(files.path(".cc"), host_source(read(files.path(".ii"))));
  if (!build(files, defines)) return {false, "", log_of(files)};
  std::string image = read(files.path(".so"));
  if (!seal_image(image)) return {false, "", "the image was not written\n"};
  write(files.path(".so"), image);
  rename(files.path(".so").c_str(), kept.c_str());
  return {true, std::move(image), log_of(files)};
}

}  // namespace

int compiler_version() {
  const std::string all = surroundings();
  return static_cast<int>(XXH3_64bits(all.data(), all.size()) >> 34);
}

Compiled compile(const std::string& source, const std::vector<std::string>& defines) {
  const fs::path folder = cache_folder();
  if (!make_own_folder(folder))
    return {false, "", "'" + folder.string() + "' is not a folder of this user alone\n"};
  const fs::path kept = folder / (hash(source, defines) + ".so");
  std::string image = read(kept);
  if (is_image(image)) return {true, std::move(image), ""};
  return compile_into(kept, source, defines);
}

}  // namespace octet::emulator
