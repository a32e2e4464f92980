// SPDX-License-Identifier: Apache-2.0
// RetinaFace's decode as an operator: three feature maps in, each with a scale of its own, faces out. With it the engine goes from the
// image to boxes, scores and landmarks, and the maps stay codes: reals are made for the few anchors that pass.
#include <type_traits>

#include "octet/plugin_cpp.h"
#include "retinaface_decode.h"

namespace {

using namespace octet::plugin;
using namespace retinaface;

struct Decode {
  explicit Decode(const Attributes& a)
      : options{a.f("score"), a.f("overlap"), static_cast<int>(a.i("faces"))} {}

  void shapes(Shapes& s) const {
    const int64_t images = s.input(0).dim(0);
    for (int level = 0; level < kLevels; ++level) {
      const Tensor map = s.input(static_cast<uint64_t>(level));
      if (map.dim(0) != images || map.dim(1) != kChannels)
        throw Refused("the maps need one batch size, and 32 channels: boxes, scores, landmarks");
    }
    s.set(0, {images, options.faces, 4});
    s.set(1, {images, options.faces});
    s.set(2, {images, options.faces, kLandmarks});
  }

  static int64_t anchors(const Call& call) {
    int64_t count = 0;
    for (uint64_t i = 0; i < kLevels; ++i)
      count += call.input(i).dim(2) * call.input(i).dim(3) * kAnchors;
    return count;
  }

  int64_t bytes_of_image(const Call& call) const {
    return anchors(call) * static_cast<int64_t>(sizeof(Candidate)) +
           options.faces * static_cast<int64_t>(sizeof(Face));
  }
  int64_t workspace(const Call& call) const { return bytes_of_image(call) * call.input(0).dim(0); }

  // Of most anchors the scores alone are read.
  double cost(const Call& call) const {
    const double anchor = call.input(0).is_codes() ? 2 : 8;
    return 2000 + anchor * static_cast<double>(anchors(call) * call.input(0).dim(0));
  }

  template <class T>
  void run(Call& call) const {
    call.parallel(call.input(0).dim(0), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) run_image<T>(call, n);
    });
  }
  void reals(Call& call) const { run<float>(call); }
  void codes(Call& call) const { run<uint8_t>(call); }

  template <class T>
  static Map<T> map_of(const Tensor& t, int64_t n) {
    const int64_t pixels = t.dim(2) * t.dim(3);
    const bool nhwc = t.is_nhwc();
    Map<T> map{t.data<T>() + n * kChannels * pixels, t.dim(2), t.dim(3), nhwc ? 1 : pixels,
               nhwc ? kChannels : 1};
    if (t.is_codes()) {
      map.scale = t.scale();
      map.zero_point = t.zero_point();
    }
    return map;
  }

  template <class T>
  void run_image(Call& call, int64_t n) const {
    const Map<T> maps[kLevels] = {map_of<T>(call.input(0), n), map_of<T>(call.input(1), n),
                                  map_of<T>(call.input(2), n)};
    char* own = static_cast<char*>(call.workspace()) + n * bytes_of_image(call);
    auto* faces = reinterpret_cast<Face*>(own);
    auto* found = reinterpret_cast<Candidate*>(faces + options.faces);
    const int count = faces_of(maps, options, found, faces);
    float* boxes = call.output(0).data<float>() + n * options.faces * 4;
    float* scores = call.output(1).data<float>() + n * options.faces;
    float* points = call.output(2).data<float>() + n * options.faces * kLandmarks;
    for (int i = 0; i < options.faces; ++i) {
      const Face face = i < count ? faces[i] : Face{};
      std::copy(face.box, face.box + 4, boxes + 4 * i);
      scores[i] = face.score;
      std::copy(face.points, face.points + kLandmarks, points + kLandmarks * i);
    }
  }

  Options options;
};

Library make() {
  const auto maps = [](octet_plugin_format f) {
    return std::vector<octet_plugin_format>(kLevels, f);
  };
  const std::vector<octet_plugin_format> faces = {f32(), f32(), f32()};
  return std::move(Library("retinaface", "1.0.0")
                       .add(Operator<Decode>("octet.examples", "RetinaFaceDecode", 1)
                                .real("score", 0.02f)
                                .between(1e-6, 0.999999)
                                .real("overlap", 0.4f)
                                .between(0, 1)
                                .integer("faces", 200)
                                .between(1, 10000)
                                .input({"stride8", 0, 4, 4})
                                .input({"stride16", 0, 4, 4})
                                .input({"stride32", 0, 4, 4})
                                .output({"boxes", 0, 3, 3})
                                .output({"scores", 0, 2, 2})
                                .output({"landmarks", 0, 3, 3})
                                .shapes<&Decode::shapes>()
                                .combination<&Decode::reals>("reals", maps(f32()), faces)
                                .workspace<&Decode::workspace>()
                                .cost<&Decode::cost>()
                                .combination<&Decode::reals>("reals-nhwc", maps(nhwc(f32())), faces)
                                .workspace<&Decode::workspace>()
                                .cost<&Decode::cost>()
                                .combination<&Decode::codes>("int8", maps(u8()), faces)
                                .workspace<&Decode::workspace>()
                                .cost<&Decode::cost>()
                                .combination<&Decode::codes>("int8-nhwc", maps(nhwc(u8())), faces)
                                .workspace<&Decode::workspace>()
                                .cost<&Decode::cost>()
                                .example({{1, 32, 8, 8}, {1, 32, 4, 4}, {1, 32, 2, 2}})
                                .example({{2, 32, 6, 10}, {2, 32, 3, 5}, {2, 32, 2, 3}})));
}

}  // namespace

OCTET_PLUGIN(make())
