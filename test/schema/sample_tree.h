// A tree that writes every field of sample::All.
#pragma once

#include "test/schema/tree_maker.h"

namespace steelyard::schema::sample {

inline Node everything() {
  return mapping({
      {"on", plain("off")},
      {"tiny", plain("-128")},
      {"port", plain("8080")},
      {"factor", plain("0.5")},
      {"share", plain("35%")},
      {"wait", plain("1m30s")},
      {"size", quoted("64KiB")},
      {"text", plain("on")},
      {"word", plain("HEAD")},
      {"name", plain("node-1")},
      {"full", quoted("5")},
      {"address", plain("[::1]:81")},
      {"any", plain(":8080")},
      {"mode", plain("relative")},
      {"pick", mapping({{"ring", mapping({{"key", plain("path")}, {"points", plain("40")}})}})},
      {"probe", mapping({{"interval", plain("10s")}})},
      {"maybe", plain("2")},
      {"extra", mapping({})},
      {"preset", mapping({{"timeout", plain("2s")}})},
      {"steps", list({plain("5")})},
      {"command", list({plain("sleep"), plain("5")})},
      {"probes", list({plain("/a"), mapping({{"path", plain("/b")}})})},
      {"counts", mapping({{"z", plain("1")}, {"a", plain("2")}})},
      {"fast", plain("yes")},
      {"depth", plain("9")},
  });
}

}  // namespace steelyard::schema::sample
