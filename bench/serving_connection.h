// SPDX-License-Identifier: Apache-2.0
// HTTP to a server on this machine, as much of it as serving_load.cc needs; serving_grpc.h has gRPC over the same socket.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

[[noreturn]] inline void give_up(const std::string& why) { throw std::runtime_error(why); }

// A connection that keeps what the server says until an answer is whole.
class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket_ < 0 ||
        ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      give_up(fmt::format("port {}: {}", port, std::strerror(errno)));
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{kPatience, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  virtual ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  int status() const { return status_; }
  const std::string& body() const { return body_; }

  virtual void send(const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t sent = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) give_up(fmt::format("the server is gone: {}", std::strerror(errno)));
      done += static_cast<size_t>(sent);
    }
  }

  // Takes what is there, or waits for it. True where an answer is whole.
  virtual bool receive() {
    if (!receive_some()) return false;
    const size_t head = held_.find("\r\n\r\n");
    if (head == held_.npos) return false;
    const size_t begin = head + 4, length = content_length(head);
    if (held_.size() < begin + length) return false;
    set_answer(std::atoi(held_.c_str() + held_.find(' ')), held_.substr(begin, length));
    held_.erase(0, begin + length);
    return true;
  }

 protected:
  // False where a signal came instead.
  bool receive_some() {
    char bytes[16 << 10];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) return false;
    if (got < 0 && errno == EAGAIN)
      give_up(fmt::format("the server has said nothing for {} s", kPatience));
    if (got <= 0) give_up("the server has closed a connection");
    held_.append(bytes, static_cast<size_t>(got));
    return true;
  }
  std::string& held() { return held_; }  // what came and is not yet taken
  void set_answer(int status, std::string body) {
    status_ = status;
    body_ = std::move(body);
  }

 private:
  size_t content_length(size_t head) const {
    std::string lower = held_.substr(0, head);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const size_t at = lower.find("content-length:");
    return at == lower.npos ? 0 : std::strtoul(lower.c_str() + at + 15, nullptr, 10);
  }

  static constexpr int kPatience = 120;  // seconds without a word

  int socket_;
  int status_ = 0;
  std::string held_, body_;
};

inline std::string request_text(const std::string& path, const std::string& body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n\r\n{}",
      path, body.size(), body);
}

inline std::string ask(Connection& connection, const std::string& text) {
  connection.send(text);
  while (!connection.receive()) {
  }
  if (connection.status() != 200)
    give_up(fmt::format("the server answers {}: {}", connection.status(), connection.body()));
  return connection.body();
}
