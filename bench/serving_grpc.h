// SPDX-License-Identifier: Apache-2.0
// gRPC over HTTP/2 without TLS to a server on this machine, as much of it as serving_load.cc needs: one request at a time on a connection, whose
// answer is one message. Headers are sent as they are, never compressed; those of answers are not read, since a message comes where a call has
// succeeded and none where it has failed.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "serving_connection.h"

// Protobuf's fields, written one after another.
class Message {
 public:
  Message& integer(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  // Strings and messages.
  Message& bytes(int field, std::string_view value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

class GrpcConnection final : public Connection {
 public:
  explicit GrpcConnection(int port) : Connection(port) {
    // The preface, settings of no words, and room for all that the server will ever say.
    Connection::send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, "") +
                     frame(kWindowUpdate, 0, 0, number(kRoom)));
  }

  // A method's request as send() takes it, whose stream is set when it is sent.
  static std::string request(std::string_view path, std::string_view message) {
    std::string headers = "\x83\x86";  // POST, http
    headers += header("\x04", path) + header("\x01", "localhost");
    headers += header(name("te"), "trailers") + header(name("content-type"), "application/grpc");
    std::string body(1, '\0');  // not compressed
    body += number(static_cast<uint32_t>(message.size()));
    body += message;
    std::string text = frame(kHeaders, kEndHeaders, 0, headers);
    for (size_t at = 0; at < body.size(); at += kFrame) {
      const bool last = at + kFrame >= body.size();
      text += frame(kData, last ? kEndStream : 0, 0, std::string_view(body).substr(at, kFrame));
    }
    return text;
  }

  void send(const std::string& text) override {
    std::string framed = text;
    stream_ += 2;
    for (size_t at = 0; at < framed.size(); at += kHead + length(framed, at))
      framed.replace(at + 5, 4, number(stream_));
    message_.clear();
    headers_.clear();
    Connection::send(framed);
  }

  bool receive() override {
    if (!receive_some()) return false;
    bool ended = false;
    size_t at = 0;
    for (; held().size() - at >= kHead && held().size() - at - kHead >= length(held(), at);
         at += kHead + length(held(), at))
      ended |= take(at);
    held().erase(0, at);
    if (ended) finish();
    return ended;
  }

 private:
  enum Kind : uint8_t {
    kData = 0,
    kHeaders = 1,
    kReset = 3,
    kSettings = 4,
    kPing = 6,
    kGoAway = 7,
    kWindowUpdate = 8
  };
  static constexpr int kEndStream = 1, kAck = 1, kEndHeaders = 4;
  static constexpr size_t kHead = 9, kFrame = 16384;
  static constexpr uint32_t kRoom = 0x7fffffff - 65535;

  static std::string number(uint32_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
    return text;
  }
  static std::string frame(Kind kind, int flags, uint32_t stream, std::string_view payload) {
    std::string text = number(static_cast<uint32_t>(payload.size())).substr(1);
    text += static_cast<char>(kind);
    text += static_cast<char>(flags);
    text += number(stream);
    text += payload;
    return text;
  }
  static std::string sized(std::string_view value) {
    if (value.size() >= 127) give_up("names of more than 126 bytes are none that the load sends");
    std::string text(1, static_cast<char>(value.size()));
    text += value;
    return text;
  }
  static std::string name(std::string_view value) { return std::string(1, '\0') + sized(value); }
  static std::string header(const std::string& name, std::string_view value) {
    return name + sized(value);
  }
  static uint32_t byte(std::string_view text, size_t at) {
    return static_cast<unsigned char>(text[at]);
  }
  static size_t length(std::string_view text, size_t at) {
    return byte(text, at) << 16 | byte(text, at + 1) << 8 | byte(text, at + 2);
  }

  // Of a frame that is whole. True where it ends the answer.
  bool take(size_t at) {
    const std::string_view payload =
        std::string_view(held()).substr(at + kHead, length(held(), at));
    const uint32_t flags = byte(held(), at + 4);
    switch (byte(held(), at + 3)) {
      case kData:
        message_ += payload;
        return (flags & kEndStream) != 0;
      case kHeaders:
        headers_ += payload;
        return (flags & kEndStream) != 0;
      case kReset:
        give_up("the server has reset a request");
      case kGoAway:
        give_up(fmt::format("the server ends a connection: {}", payload.substr(8)));
      case kSettings:
        if ((flags & kAck) == 0) Connection::send(frame(kSettings, kAck, 0, ""));
        return false;
      case kPing:
        if ((flags & kAck) == 0) Connection::send(frame(kPing, kAck, 0, payload));
        return false;
      default:
        return false;
    }
  }

  void finish() {
    received_ += message_.size();
    if (received_ > kRoom / 2) {
      Connection::send(frame(kWindowUpdate, 0, 0, number(static_cast<uint32_t>(received_))));
      received_ = 0;
    }
    const bool answered = message_.size() >= 5;
    set_answer(answered ? 200 : 500, answered ? message_.substr(5) : readable(headers_));
  }

  // The words of headers that were not compressed.
  static std::string readable(const std::string& headers) {
    std::string text;
    for (const char c : headers) text += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : ' ';
    return text;
  }

  uint32_t stream_ = 0xffffffff;  // the first is 1
  std::string message_, headers_;
  size_t received_ = 0;
};
