// SPDX-License-Identifier: Apache-2.0
// The engine that goes from image to faces against the bare network with the same decode behind it, in turns:
//   retinaface_caller WHOLE.octet BARE.octet libretinaface.so [ROUNDS]
// prints the median of both in milliseconds, and how many faces each found in the last round.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "octet/engine.h"
#include "octet/plugins.h"
#include "retinaface_decode.h"

namespace {

using Clock = std::chrono::steady_clock;

octet::Tensor noise(const octet::Shape& shape) {
  octet::Tensor image(octet::Dtype::f32, shape);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> pixel(-123.0f, 151.0f);
  for (float& x : image.mutable_as<float>()) x = pixel(random);
  return image;
}

retinaface::Map<float> map_of(const octet::Tensor& t) {
  const int64_t pixels = t.shape()[2] * t.shape()[3];
  return {t.as<float>().data(), t.shape()[2], t.shape()[3], pixels, 1};
}

class Caller {
 public:
  int decode(const std::vector<octet::Tensor>& maps) {
    const retinaface::Map<float> levels[] = {map_of(maps[0]), map_of(maps[1]), map_of(maps[2])};
    size_t anchors = 0;
    for (const auto& level : levels)
      anchors += static_cast<size_t>(level.height * level.width * retinaface::kAnchors);
    found_.resize(anchors);
    faces_.resize(static_cast<size_t>(options_.faces));
    return retinaface::faces_of(levels, options_, found_.data(), faces_.data());
  }

 private:
  retinaface::Options options_{0.5f, 0.4f, 200};
  std::vector<retinaface::Candidate> found_;
  std::vector<retinaface::Face> faces_;
};

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

template <class Body>
double milliseconds(const Body& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

int run(char** arguments, int rounds) {
  octet::load_plugin(arguments[3]);
  const auto whole_engine = octet::Engine::load(arguments[1]);
  const auto bare_engine = octet::Engine::load(arguments[2]);
  octet::Context whole = whole_engine.make_context(), bare = bare_engine.make_context();
  const octet::Tensor image = noise({1, 3, 640, 640});
  Caller caller;
  std::vector<double> whole_times, bare_times;
  long whole_faces = 0, bare_faces = 0;
  for (int i = 0; i < rounds; ++i) {
    whole_times.push_back(milliseconds([&] {
      const auto scores = whole.run({&image, 1})[1];
      whole_faces = std::ranges::count_if(scores.as<float>(), [](float s) { return s > 0; });
    }));
    bare_times.push_back(milliseconds([&] { bare_faces = caller.decode(bare.run({&image, 1})); }));
  }
  std::printf("whole %.3f ms, %ld faces; bare and decode %.3f ms, %ld faces\n", median(whole_times),
              whole_faces, median(bare_times), bare_faces);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s WHOLE.octet BARE.octet PLUGIN.so [ROUNDS]\n", argv[0]);
    return 2;
  }
  try {
    return run(argv, argc > 4 ? std::max(1, std::atoi(argv[4])) : 100);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
