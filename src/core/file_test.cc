// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "core/error_testing.h"
#include "core/folder_testing.h"
#include "core/input.h"
#include "core/temporary.h"
#include "octet/line_log.h"
#include "octet/output.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

using test::expect_error;

class Files : public test::InFolder {
 protected:
  fs::path put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  // One of each kind that is no regular file.
  std::vector<fs::path> special() const {
    ::mkfifo((folder_ / "fifo").c_str(), 0600);
    const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = (folder_ / "socket").string();
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(listening);
    fs::create_symlink("fifo", folder_ / "link");
    return {folder_ / "fifo", folder_ / "socket", folder_ / "link", folder_,
            "/dev/null",      "/dev/zero",        "/dev/full"};
  }

  std::string read(const std::string& name) const { return read_text(folder_ / name, 1 << 20); }
};

TEST_F(Files, NothingWaitsForTheOtherEnd) {
  for (const fs::path& path : special()) {
    std::byte bytes[4];
    const auto refuse = [&](const auto& call) {
      expect_error(call, Error::Code::io, {path.string()});
    };
    refuse([&] { File file(path); });
    refuse([&] { read_text(path, 100); });
    refuse([&] { read_exactly(path, bytes, "x"); });
    refuse([&] { read_pieces(path, [](auto) {}); });
    refuse([&] { write_text("x", path); });
    refuse([&] { LineLog log(path, "# log"); });
    EXPECT_EQ(read_beginning(path, 4), std::nullopt);
  }
}

TEST_F(Files, ReadsWholeFilesAndTheirBeginnings) {
  const fs::path path = put("a", "abcdef");
  EXPECT_EQ(read_text(path, 6), "abcdef");
  expect_error([&] { read_text(path, 5); }, Error::Code::invalid_argument,
               {"6 bytes", "at most 5"});
  EXPECT_EQ(read_beginning(path, 3), "abc");
  EXPECT_EQ(read_beginning(path, 9), "abcdef");
  EXPECT_EQ(read_beginning(folder_ / "none", 3), std::nullopt);
  std::byte bytes[6];
  read_exactly(path, bytes, "x");
  EXPECT_EQ(std::memcmp(bytes, "abcdef", 6), 0);
  expect_error([&] { read_exactly(path, std::span(bytes).first(5), "input x"); },
               Error::Code::invalid_argument, {"6 bytes", "input x takes 5"});
  const std::string large(3'000'000, 'x');
  std::string seen;
  read_pieces(put("b", large), [&](std::span<const std::byte> piece) {
    seen.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  EXPECT_EQ(seen, large);
}

TEST_F(Files, LogsGoOnAndNeverInAnotherFile) {
  const fs::path path = folder_ / "log";
  {
    LineLog log(path, "# log");
    EXPECT_TRUE(log.add("one"));
    LineLog other(path, "# log");
    EXPECT_TRUE(other.add("two"));
    EXPECT_TRUE(log.add("three"));
  }
  EXPECT_EQ(read("log"), "# log\none\ntwo\nthree\n");
  for (const char* text : {"# logs\n", "# log", "#", "x\n# log\n"}) {
    expect_error([&] { LineLog log(put("other", text), "# log"); }, Error::Code::invalid_argument,
                 {"no log"});
    EXPECT_EQ(read("other"), text);
  }
  LineLog empty(put("empty", ""), "# log");
  EXPECT_EQ(read("empty"), "# log\n");
}

TEST_F(Files, TemporaryNamesAreOurs) {
  const std::string name = temporary_name("model.octet", 123, 4);
  EXPECT_TRUE(name.starts_with("model.octet.123-4."));
  EXPECT_TRUE(name.ends_with(".tmp"));
  EXPECT_TRUE(is_temporary_of(name, "model.octet"));
  EXPECT_FALSE(is_temporary_of(name, "model"));
  EXPECT_FALSE(is_temporary_of(name + ".tmp", "model.octet"));
  for (const char* other :
       {"model.octet.123-4.tmp", "model.octet.tmp", "model.octet.-.tmp", "model.octet.1-",
        "model.octet.123-4.0000000000000000.tmp", "model.octet.", "model.octet"})
    EXPECT_FALSE(is_temporary_of(other, "model.octet")) << other;
  const std::string longest(255, 'x');
  EXPECT_LE(temporary_name(longest, 4194304, 99).size(), 255u);
  EXPECT_TRUE(is_temporary_of(temporary_name(longest, 7, 0), longest));
  EXPECT_FALSE(is_temporary_of(temporary_name(longest, 7, 0), std::string(254, 'x')));
}

TEST_F(Files, OnlyWhatAWriterLeftIsRemoved) {
  const std::vector<std::string> users = {"out.123-4.tmp", "out.1-0.tmp", "out.tmp",
                                          "out.9-9.0123456789abcdef.tmp"};
  for (const std::string& name : users) put(name, "of the user");
  const std::string left = temporary_name("out", 1, 0), linked = temporary_name("out", 2, 0);
  put(left, "a part");
  fs::create_hard_link(put("kept", "of the user"), folder_ / linked);
  write_text("new", folder_ / "out");
  EXPECT_EQ(read("out"), "new");
  for (const std::string& name : users) EXPECT_EQ(read(name), "of the user") << name;
  EXPECT_FALSE(fs::exists(folder_ / left));
  EXPECT_TRUE(fs::exists(folder_ / linked));  // the same file has a name that a user gave it
}

TEST_F(Files, NamesOfEveryLengthAreWritten) {
  for (const int bytes : {200, 240, 255}) {
    const fs::path path = folder_ / std::string(static_cast<size_t>(bytes), 'n');
    write_text("x", path);
    EXPECT_EQ(read_text(path, 9), "x");
  }
}

// In a process of its own, where all three are closed: what is opened gets none of their numbers.
TEST_F(Files, NoFileGetsAStandardDescriptor) {
  const fs::path in = put("in", "abc"), out = folder_ / "out", log = folder_ / "log";
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const File file(in);
    AtomicFile written(out);
    LineLog lines(log, "# log");
    for (const int fd : {0, 1, 2}) {
      if (::fcntl(fd, F_GETFD) >= 0) ::_exit(1);
    }
    written.commit();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace octet
