// SPDX-License-Identifier: Apache-2.0
// What lies in the cache is another process's, or a stranger's: it is taken whole and right, or not at all.
#include "backends/cuda/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "core/temporary.h"
#include "octet/error.h"
#include "octet/warm.h"

namespace octet::cuda {
namespace {

namespace fs = std::filesystem;

class KernelCache : public ::testing::Test {
 protected:
  void SetUp() override { setenv("OCTET_KERNEL_CACHE", folder_.c_str(), 1); }
  void TearDown() override {
    unsetenv("OCTET_KERNEL_CACHE");
    fs::remove_all(root_);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    return all;
  }
  std::string bytes_of(const fs::path& file) const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const fs::path& file, const std::string& bytes) const {
    std::ofstream(file, std::ios::binary) << bytes;
  }

  const fs::path root_ = fs::temp_directory_path() / ("octet_kernels_" + std::to_string(getpid()));
  const fs::path folder_ = root_ / "not" / "there";
  const KernelImage image_{"the text of a source", "-arch=sm_90a", 13, 0};
  const std::vector<char> code_ = {'c', 'o', 'd', 'e', 0, 1};
};

TEST_F(KernelCache, GivesBackWhatItKept) {
  EXPECT_TRUE(read_kernel(image_).empty());
  keep_kernel(image_, code_);
  EXPECT_EQ(read_kernel(image_), code_);
  EXPECT_EQ(files().size(), 1u) << "a temporary file was left";
}

TEST_F(KernelCache, KnowsWhatTheCodeWasMadeFrom) {
  keep_kernel(image_, code_);
  EXPECT_TRUE(read_kernel({"the text of a sourcf", "-arch=sm_90a", 13, 0}).empty());
  EXPECT_TRUE(read_kernel({"the text of a source", "-arch=sm_89", 13, 0}).empty());
  EXPECT_TRUE(read_kernel({"the text of a source", "-arch=sm_90a -fmad=false", 13, 0}).empty());
  EXPECT_TRUE(read_kernel({"the text of a source", "-arch=sm_90a", 12, 0}).empty());
  EXPECT_TRUE(read_kernel({"the text of a source", "-arch=sm_90a", 13, 1}).empty());
}

// Under the name of another kernel, too.
TEST_F(KernelCache, TakesNothingDamaged) {
  keep_kernel(image_, code_);
  const fs::path file = files().at(0);
  const std::string good = bytes_of(file);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    write(file, damaged);
    EXPECT_TRUE(read_kernel(image_).empty()) << "byte " << i;
    write(file, good.substr(0, i));
    EXPECT_TRUE(read_kernel(image_).empty()) << i << " bytes";
  }
  write(file, good + "x");
  EXPECT_TRUE(read_kernel(image_).empty());
  const KernelImage other{"another text", "-arch=sm_90a", 13, 0};
  keep_kernel(other, {'o'});
  for (const fs::path& path : files()) write(path, good);
  EXPECT_TRUE(read_kernel(other).empty());
  EXPECT_EQ(read_kernel(image_), code_);
}

TEST_F(KernelCache, OthersMayReadWhatIsMadeForThem) {
  const mode_t before = umask(077);
  open_shared_cache(folder_);
  write_shared_kernel(folder_, image_, code_);
  umask(before);
  EXPECT_EQ(read_kernel(folder_, image_), code_);
  EXPECT_EQ(read_kernel(image_), code_);
  struct stat facts {};
  ASSERT_EQ(::stat(files().at(0).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0644u);
  ASSERT_EQ(::stat(folder_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0755u);
  open_shared_cache(folder_);  // what is there stays
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(KernelCache, OthersMayReadWhatARunHasKept) {
  EXPECT_FALSE(share_kernel(folder_, image_));
  keep_kernel(image_, code_);
  open_shared_cache(folder_);
  EXPECT_TRUE(share_kernel(folder_, image_));
  EXPECT_EQ(fs::status(files().at(0)).permissions(), fs::perms{0644});
  EXPECT_EQ(read_kernel(image_), code_);
}

TEST_F(KernelCache, IsNotMadeWhereOthersCouldWriteIt) {
  fs::create_directories(folder_);
  fs::permissions(folder_, fs::perms::all);
  EXPECT_THROW(open_shared_cache(folder_), Error);
  fs::remove(folder_);
  write(folder_, "a file");
  EXPECT_THROW(open_shared_cache(folder_), Error);
  EXPECT_THROW(open_shared_cache("/proc/octet/kernels"), Error);
}

TEST_F(KernelCache, SaysWhyNothingWasKept) {
  setenv("OCTET_KERNEL_CACHE", "/proc/octet/kernels", 1);
  keep_kernel(image_, code_);
  EXPECT_NE(unkept_kernels().find("'/proc/octet/kernels' cannot be made: "), std::string::npos)
      << unkept_kernels();
}

TEST_F(KernelCache, IsAbsentWhereItCannotBe) {
  keep_kernel(image_, code_);
  const fs::path file = files().at(0);
  fs::remove(file);
  fs::create_directory(file);
  keep_kernel(image_, code_);
  EXPECT_TRUE(read_kernel(image_).empty()) << "a folder in its place";
  fs::remove_all(folder_);
  write(folder_.string(), "no folder");
  keep_kernel(image_, code_);
  EXPECT_TRUE(read_kernel(image_).empty()) << "a file in the folder's place";
  setenv("OCTET_KERNEL_CACHE", "off", 1);
  keep_kernel(image_, code_);
  EXPECT_TRUE(kernel_cache_folder().empty());
  EXPECT_TRUE(read_kernel(image_).empty());
}

// Machine code that others could have put there is not run, and no more is put there.
TEST_F(KernelCache, TakesNothingThatOthersCanWrite) {
  keep_kernel(image_, code_);
  const fs::path file = files().at(0);
  ASSERT_EQ(read_kernel(image_), code_);
  for (const fs::path& place : {folder_, file}) {
    const fs::perms before = fs::status(place).permissions();
    for (const fs::perms other : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(place, before | other);
      EXPECT_TRUE(read_kernel(image_).empty()) << place;
    }
    fs::permissions(place, before);
    EXPECT_EQ(read_kernel(image_), code_);
  }
  fs::permissions(folder_, fs::perms::all);
  EXPECT_TRUE(why_not_trusted(folder_).ends_with("may be written by other users"));
  keep_kernel({"another text", "", 13, 0}, code_);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(KernelCache, TakesNothingOfAnotherUser) {
  constexpr uid_t kOther = 54321;
  keep_kernel(image_, code_);
  const fs::path file = files().at(0);
  if (::chown(file.c_str(), kOther, kOther) != 0) GTEST_SKIP() << "only root gives files away";
  EXPECT_TRUE(read_kernel(image_).empty());
  ASSERT_EQ(::chown(file.c_str(), ::geteuid(), ::getegid()), 0);
  EXPECT_EQ(read_kernel(image_), code_);
  ASSERT_EQ(::chown(folder_.c_str(), kOther, kOther), 0);
  EXPECT_TRUE(read_kernel(image_).empty());
  keep_kernel({"another text", "", 13, 0}, code_);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(why_not_trusted(folder_).ends_with("belongs to another user"));
}

TEST_F(KernelCache, IsPrivateFromTheFirstDay) {
  const mode_t before = ::umask(0);
  keep_kernel(image_, code_);
  ::umask(before);
  EXPECT_EQ(read_kernel(image_), code_);
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
}

// A second name may be in a folder that others can write.
TEST_F(KernelCache, TakesNothingThatHasAnotherName) {
  keep_kernel(image_, code_);
  fs::create_hard_link(files().at(0), root_ / "other");
  EXPECT_TRUE(read_kernel(image_).empty());
}

// What they lead to stays as it is.
TEST_F(KernelCache, FollowsNoLinks) {
  keep_kernel(image_, code_);
  const fs::path file = files().at(0), elsewhere = root_ / "elsewhere";
  for (const char* contents : {"somebody's letters", ""}) {
    write(elsewhere, contents);
    fs::remove(file);
    fs::create_symlink(elsewhere, file);
    EXPECT_TRUE(read_kernel(image_).empty());
    keep_kernel(image_, code_);
    EXPECT_EQ(bytes_of(elsewhere), contents);
    EXPECT_EQ(read_kernel(image_), code_);
  }
  for (const char* there : {"/dev/zero", "/no/such", "."}) {
    fs::remove(file);
    fs::create_symlink(there, file);
    EXPECT_TRUE(read_kernel(image_).empty()) << there;
    keep_kernel(image_, code_);
    EXPECT_EQ(read_kernel(image_), code_) << there;
  }
}

TEST_F(KernelCache, KeepsNoPartOnAFullDisk) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t room : {rlim_t{0}, rlim_t{4}, rlim_t{50}}) {  // bytes that a file may have
    const struct rlimit full { room, before.rlim_max };
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
    keep_kernel(image_, code_);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(files().empty()) << room;
    EXPECT_TRUE(read_kernel(image_).empty());
  }
  std::signal(SIGXFSZ, handler);
  keep_kernel(image_, code_);
  EXPECT_EQ(read_kernel(image_), code_);
}

// A process that died while it wrote leaves a part, and a lock that went with it.
TEST_F(KernelCache, PassesOverWhatAnotherLeft) {
  keep_kernel(image_, code_);
  const fs::path file = files().at(0);
  write(folder_ / temporary_name(file.filename().string(), 1, 0), "a part");
  fs::remove(file);
  keep_kernel(image_, code_);
  EXPECT_EQ(read_kernel(image_), code_);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(KernelCache, ForgetsTheOldestFirst) {
  fs::create_directories(folder_);
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 5; ++i) {  // sparse: they take no room
    const fs::path file = folder_ / (std::to_string(i) + ".kernel");
    write(file, "");
    fs::resize_file(file, kKernelCacheBytes / 3);
    fs::last_write_time(file, now - std::chrono::hours(5 - i));
    // The first is of octet warm: it is there on purpose, however old it is, and leaves the others their room.
    fs::permissions(file, i == 0 ? fs::perms{0644} : fs::perms{0600});
  }
  write(folder_ / "notes.txt", "not ours");
  keep_kernel(image_, code_);
  EXPECT_EQ(read_kernel(image_), code_);
  EXPECT_TRUE(fs::exists(folder_ / "0.kernel"));
  EXPECT_FALSE(fs::exists(folder_ / "1.kernel"));
  EXPECT_FALSE(fs::exists(folder_ / "2.kernel"));
  EXPECT_TRUE(fs::exists(folder_ / "3.kernel"));
  EXPECT_TRUE(fs::exists(folder_ / "4.kernel"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

}  // namespace
}  // namespace octet::cuda
