// Any bytes as a file: the reader neither crashes nor takes what the writer would not have written.
// Any bytes as names, addresses and weights: what the writer lets through reads back the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "steelyard/apply/nginx/plan.h"

using namespace steelyard;

namespace {

void as_file(std::string_view text) {
  const auto got = apply::nginx::read(text);
  if (!got) return;
  const auto again = apply::nginx::write(*got);
  if (!again || *again != text) std::abort();
}

void as_names(std::string_view text) {
  model::TableUpstream u{.name = "api", .nodes = {}, .panic = false};
  while (text.size() > 20) {
    const std::size_t size = static_cast<unsigned char>(text[0]) % 70U;
    model::TableNode n;
    std::array<std::uint8_t, 16> ip{};
    std::memcpy(ip.data(), text.data() + 1, 16);
    n.address = base::Address::v6(ip, static_cast<std::uint16_t>(text[17] * 256 + text[18]));
    n.weight = static_cast<double>(text[19]);
    n.name = text.substr(20, size);
    text.remove_prefix(std::min(text.size(), 20 + size));
    u.nodes.push_back(std::move(n));
  }
  const auto made = apply::nginx::plan(u, {});
  if (!made) return;
  const auto out = apply::nginx::write(*made);
  if (!out) std::abort();
  const auto back = apply::nginx::read(*out);
  if (!back || !(*back == *made)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  as_file(text);
  as_names(text);
  return 0;
}
