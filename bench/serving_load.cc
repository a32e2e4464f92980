// SPDX-License-Identifier: Apache-2.0
// Requests to a server of the Open Inference Protocol over HTTP, or gRPC, whose tensors lie in the system's shared memory, or a GPU's: one thread, one
// connection for each request that may be outstanding. Closed loop: the next request follows an answer. Open loop: requests are due at a rate, whatever
// the server does, and their latency counts from then. Prints one JSON object, with the processor time that the load itself took.
//   serving_load PORT MODEL --connections N [--grpc PORT] [--gpu DEVICE] [--rate R [--poisson]] [--seconds S] [--warm-up S] [--shape 3x224x224]
//     [--rows N] [--inputs FILE] [--expect FILE]
// PORT is that of HTTP, by which the model and the memory are made known, whatever requests go by. The files hold the bytes of all inputs (else numbers
// by chance, and zeros for integers), and those of the first output that each answer must have.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "serving_connection.h"
#include "serving_grpc.h"
#include "serving_memory.h"

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t signalled = 0;

// SIGINT and SIGTERM end the load as an error does, when what was asked is answered: a server keeps the memory of requests that it works on.
void end_by_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { signalled = signal; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

struct Options {
  int port = 0;
  int grpc_port = 0;  // 0: by HTTP
  int gpu = -1;       // -1: in the system's memory
  std::string model;
  size_t connections = 1;
  double rate = 0;  // requests in a second; 0: closed loop
  bool poisson = false;
  double seconds = 5, warm_up = 1;
  std::string shape;           // of a row, where the model leaves sizes open
  int rows = 1;                // of a request
  std::string inputs, expect;  // files
};

double number_of(const char* text, const char* what, double least) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != 0 || !(value >= least && value <= 1e9))
    give_up(fmt::format("{} '{}': expected a number from {} on", what, text, least));
  return value;
}

Options options_of(int argc, char** argv) {
  Options options;
  if (argc < 3)
    give_up("usage: serving_load PORT MODEL --connections N [...]; its head has the rest");
  options.port = static_cast<int>(number_of(argv[1], "port", 1));
  options.model = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--poisson") {
      options.poisson = true;
      continue;
    }
    if (i + 1 == argc) give_up(fmt::format("{} wants a value", flag));
    const char* value = argv[++i];
    if (flag == "--connections") {
      options.connections = static_cast<size_t>(number_of(value, "--connections", 1));
    } else if (flag == "--rows") {
      options.rows = static_cast<int>(number_of(value, "--rows", 1));
    } else if (flag == "--grpc") {
      options.grpc_port = static_cast<int>(number_of(value, "--grpc", 1));
    } else if (flag == "--gpu") {
      options.gpu = static_cast<int>(number_of(value, "--gpu", 0));
    } else if (flag == "--rate") {
      options.rate = number_of(value, "--rate", 1e-3);
    } else if (flag == "--seconds") {
      options.seconds = number_of(value, "--seconds", 1e-3);
    } else if (flag == "--warm-up") {
      options.warm_up = number_of(value, "--warm-up", 0);
    } else if (flag == "--shape") {
      options.shape = value;
    } else if (flag == "--inputs") {
      options.inputs = value;
    } else if (flag == "--expect") {
      options.expect = value;
    } else {
      give_up(fmt::format("there is no flag {}", flag));
    }
  }
  return options;
}

// A tensor of the model with the sizes that requests have.
struct Tensor {
  std::string name, type;
  std::vector<int64_t> sizes;
  size_t bytes = 0;
};

size_t element_bytes(const std::string& type) {
  const size_t digits = type.find_first_of("0123456789");
  if (type == "BOOL") return 1;
  if (digits == type.npos) give_up(fmt::format("tensors of {} are none that the load knows", type));
  return static_cast<size_t>(std::atoi(type.c_str() + digits)) / 8;
}

// The batch is the first size; others that are open come from the options.
Tensor tensor_of(const Json& described, const Options& options, const std::string& shape) {
  Tensor tensor{described.at("name"), described.at("datatype"), described.at("shape")};
  std::vector<int64_t> given;
  for (size_t at = 0; at < shape.size();) {
    given.push_back(std::strtoll(shape.c_str() + at, nullptr, 10));
    at = std::min(shape.find('x', at), shape.size() - 1) + 1;
  }
  if (!tensor.sizes.empty()) tensor.sizes[0] = options.rows;
  for (size_t i = 1; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] < 0 && i <= given.size()) tensor.sizes[i] = given[i - 1];
    if (tensor.sizes[i] < 1)
      give_up(fmt::format("'{}' leaves sizes open; name them by --shape", tensor.name));
  }
  tensor.bytes = element_bytes(tensor.type);
  for (const int64_t size : tensor.sizes) tensor.bytes *= static_cast<size_t>(size);
  return tensor;
}

std::vector<char> read_bytes(const std::string& path, size_t wanted, const char* whose) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() != wanted)
    give_up(fmt::format("{}: {} bytes, and {} {}", path, bytes.size(), whose, wanted));
  return bytes;
}

struct Result {
  std::vector<double> milliseconds;  // of answers
  int64_t failures = 0;              // other statuses than 200
  int64_t wrong = 0;                 // answers with other bytes
  std::string first_failure;
  double seconds = 0, processor_seconds = 0;
};

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

class Load {
 public:
  explicit Load(const Options& options) : options_(options) {
    Connection control(options.port);
    const auto described = Json::parse(
        ask(control,
            fmt::format("GET /v2/models/{} HTTP/1.1\r\nHost: localhost\r\n\r\n", options.model)));
    for (const Json& input : described.at("inputs"))
      inputs_.push_back(tensor_of(input, options, options.shape));
    output_ = tensor_of(described.at("outputs").at(0), options, "");
    for (const Tensor& input : inputs_) input_bytes_ += input.bytes;
    const size_t bytes = input_bytes_ + options.connections * output_.bytes;
    const std::string name = fmt::format("octet-load-{}", ::getpid());
    region_ = std::make_unique<Region>(options.port, memory_of(options, name, bytes), name);
    fill_inputs();
    if (!options.expect.empty())
      expected_ = read_bytes(options.expect, output_.bytes, "the output has");
    for (size_t i = 0; i < options.connections; ++i) slots_.push_back(slot(i));
  }

  Result run(double seconds) {
    Result result;
    const double spent = processor_seconds();
    start_ = Clock::now();
    end_ = start_ +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    next_due_ = start_;
    due_.clear();
    idle_.clear();
    outstanding_ = 0;
    for (size_t i = 0; i < slots_.size(); ++i) idle_.push_back(i);
    const int poll = open_poll();
    give_work();
    while (outstanding_ > 0 || is_to_ask()) wait_and_take(poll, result);
    ::close(timer_);
    ::close(poll);
    if (signalled != 0) give_up(fmt::format("ended by signal {}", static_cast<int>(signalled)));
    const std::chrono::duration<double> took = Clock::now() - start_;
    result.seconds = took.count();
    result.processor_seconds = processor_seconds() - spent;
    return result;
  }

 private:
  struct Slot {
    std::unique_ptr<Connection> connection;
    std::string request;
    size_t output = 0;  // where in the region
    Clock::time_point due;
  };

  static std::unique_ptr<Memory> memory_of(const Options& options, const std::string& name,
                                           size_t bytes) {
    if (options.gpu >= 0) return std::make_unique<GpuMemory>(options.gpu, bytes);
    return std::make_unique<SharedMemory>("/" + name, bytes);
  }

  // Numbers in [0, 1), the same for every run; integers are 0.
  void fill_inputs() const {
    if (!options_.inputs.empty())
      return region_->memory().write(read_bytes(options_.inputs, input_bytes_, "the inputs have"));
    std::vector<char> bytes(input_bytes_);
    char* at = bytes.data();
    std::mt19937 random(1);
    for (const Tensor& input : inputs_) {
      for (size_t i = 0; input.type == "FP32" && i < input.bytes / sizeof(float); ++i) {
        const float value = static_cast<float>(random() >> 8) / static_cast<float>(1 << 24);
        std::memcpy(at + i * sizeof value, &value, sizeof value);
      }
      at += input.bytes;
    }
    region_->memory().write(bytes);
  }

  Slot slot(size_t i) const {
    Slot made;
    made.output = input_bytes_ + i * output_.bytes;
    if (options_.grpc_port > 0) {
      made.connection = std::make_unique<GrpcConnection>(options_.grpc_port);
      made.request = GrpcConnection::request("/inference.GRPCInferenceService/ModelInfer",
                                             message_for(made.output));
    } else {
      made.connection = std::make_unique<Connection>(options_.port);
      made.request = request_text(fmt::format("/v2/models/{}/infer", options_.model),
                                  body_for(made.output).dump());
    }
    return made;
  }

  Json body_for(size_t output) const {
    const auto placed = [&](const Tensor& tensor, size_t offset) {
      return Json{{"shared_memory_region", region_->name()},
                  {"shared_memory_byte_size", tensor.bytes},
                  {"shared_memory_offset", offset}};
    };
    Json body = {{"inputs", Json::array()}, {"outputs", Json::array()}};
    size_t at = 0;
    for (const Tensor& input : inputs_) {
      body["inputs"].push_back({{"name", input.name},
                                {"datatype", input.type},
                                {"shape", input.sizes},
                                {"parameters", placed(input, at)}});
      at += input.bytes;
    }
    body["outputs"].push_back({{"name", output_.name}, {"parameters", placed(output_, output)}});
    return body;
  }

  // ModelInferRequest of the protocol's grpc_service.proto; the numbers are its fields.
  std::string message_for(size_t output) const {
    const auto place = [&](Message& tensor, int field, size_t bytes, size_t offset) {
      const auto entry = [&](const char* key, const Message& value) {
        tensor.bytes(field, Message().bytes(1, key).bytes(2, value.text()).text());
      };
      entry("shared_memory_region", Message().bytes(3, region_->name()));
      entry("shared_memory_byte_size", Message().integer(2, bytes));
      entry("shared_memory_offset", Message().integer(2, offset));
    };
    Message request;
    request.bytes(1, options_.model);
    size_t at = 0;
    for (const Tensor& input : inputs_) {
      Message tensor;
      tensor.bytes(1, input.name).bytes(2, input.type);
      for (const int64_t size : input.sizes) tensor.integer(3, static_cast<uint64_t>(size));
      place(tensor, 4, input.bytes, at);
      request.bytes(5, tensor.text());
      at += input.bytes;
    }
    Message tensor;
    tensor.bytes(1, output_.name);
    place(tensor, 2, output_.bytes, output);
    return request.bytes(6, tensor.text()).text();
  }

  int open_poll() {
    const int poll = ::epoll_create1(EPOLL_CLOEXEC);
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN;
    for (size_t i = 0; i <= slots_.size(); ++i) {
      event.data.u64 = i;
      const int file = i < slots_.size() ? slots_[i].connection->socket() : timer_;
      if (::epoll_ctl(poll, EPOLL_CTL_ADD, file, &event) != 0)
        give_up(fmt::format("epoll: {}", std::strerror(errno)));
    }
    return poll;
  }

  // By the clock alone: a closed loop asks when it is answered.
  bool is_to_ask() const { return signalled == 0 && options_.rate > 0 && next_due_ < end_; }

  // Requests that are due by now go to connections that are idle; the timer wakes for the next one.
  void give_work() {
    if (signalled != 0) return;
    const Clock::time_point now = Clock::now();
    if (options_.rate > 0) {
      for (; next_due_ <= now && next_due_ < end_; next_due_ += until_next())
        due_.push_back(next_due_);
    } else {
      while (now < end_ && due_.size() < idle_.size()) due_.push_back(now);
    }
    while (!due_.empty() && !idle_.empty()) {
      Slot& slot = slots_[idle_.back()];
      idle_.pop_back();
      slot.due = due_.front();
      due_.pop_front();
      region_->memory().spoil(slot.output, output_.bytes);
      slot.connection->send(slot.request);
      ++outstanding_;
    }
    if (options_.rate > 0 && next_due_ < end_) set_timer();
  }

  Clock::duration until_next() {
    const double mean = 1 / options_.rate;
    const double seconds =
        options_.poisson ? std::exponential_distribution<double>(options_.rate)(random_) : mean;
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  void set_timer() const {
    const auto left = std::max<int64_t>(
        1, std::chrono::duration_cast<std::chrono::nanoseconds>(next_due_ - Clock::now()).count());
    itimerspec when{};
    when.it_value.tv_sec = left / 1'000'000'000;
    when.it_value.tv_nsec = left % 1'000'000'000;
    ::timerfd_settime(timer_, 0, &when, nullptr);
  }

  void wait_and_take(int poll, Result& result) {
    epoll_event events[64];
    const int count = ::epoll_wait(poll, events, 64, 60'000);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) give_up("no answer came for a minute");
    for (int i = 0; i < count; ++i) {
      const size_t at = events[i].data.u64;
      if (at == slots_.size()) {
        uint64_t times = 0;
        (void)!::read(timer_, &times, sizeof times);
      } else if (slots_[at].connection->receive()) {
        take(slots_[at], result);
        idle_.push_back(at);
        --outstanding_;
      }
    }
    give_work();
  }

  void take(const Slot& slot, Result& result) const {
    const std::chrono::duration<double, std::milli> took = Clock::now() - slot.due;
    result.milliseconds.push_back(took.count());
    if (slot.connection->status() != 200) {
      ++result.failures;
      if (result.first_failure.empty()) result.first_failure = slot.connection->body();
    } else if (!expected_.empty() && !region_->memory().equals(slot.output, expected_)) {
      ++result.wrong;
    }
  }

  const Options& options_;
  std::vector<Tensor> inputs_;
  Tensor output_;
  size_t input_bytes_ = 0;
  std::unique_ptr<Region> region_;
  std::vector<char> expected_;
  std::vector<Slot> slots_;
  std::mt19937_64 random_{7};
  Clock::time_point start_, end_, next_due_;
  std::deque<Clock::time_point> due_;
  std::vector<size_t> idle_;
  size_t outstanding_ = 0;
  int timer_ = -1;
};

void print(const Options& options, Result& result) {
  std::vector<double>& sorted = result.milliseconds;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double q) {
    return sorted.empty()
               ? 0.0
               : sorted[std::min(sorted.size() - 1,
                                 static_cast<size_t>(q * static_cast<double>(sorted.size())))];
  };
  const auto requests = static_cast<double>(sorted.size());
  const Json object = {{"loop", options.rate > 0 ? "open" : "closed"},
                       {"requests", sorted.size()},
                       {"rows_per_second", requests * options.rows / result.seconds},
                       {"p50_ms", at(0.5)},
                       {"p90_ms", at(0.9)},
                       {"p99_ms", at(0.99)},
                       {"max_ms", at(1)},
                       {"failures", result.failures},
                       {"first_failure", result.first_failure},
                       {"wrong", result.wrong},
                       {"seconds", result.seconds},
                       {"processor_seconds", result.processor_seconds}};
  fmt::print("{}\n", object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    end_by_signals();
    const Options options = options_of(argc, argv);
    Load load(options);
    if (options.warm_up > 0) load.run(options.warm_up);
    Result result = load.run(options.seconds);
    print(options, result);
    return result.failures + result.wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
