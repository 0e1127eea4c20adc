// steelyard key new: makes an API key. The key is shown once; the configuration keeps only its
// hash.
#include <array>
#include <fmt/core.h>

#include "steelyard/cli/command.h"
#include "steelyard/io/crypto.h"

namespace steelyard::cli {

int key_new(const KeyFlags& flags) {
  std::array<std::uint8_t, 24> secret{};  // 192 bits: beyond guessing, short enough to paste
  io::random_bytes(secret);
  const std::string key = "sy_" + io::to_hex(secret);
  fmt::print(stderr,
             "The key, shown this once. Send it as X-API-Key.\n"
             "For the configuration, under admin.keys:\n"
             "  - {{ name: {}, sha256: {} }}\n",
             flags.name, io::to_hex(io::sha256(key)));
  fmt::print("{}\n", key);
  return kOk;
}

}  // namespace steelyard::cli
