#include "steelyard/health/words.h"

#include <array>
#include <gtest/gtest.h>
#include <utility>

namespace steelyard::health {
namespace {

using namespace std::chrono_literals;

TEST(Words, SayDurationsAsPeopleDo) {
  const std::array<std::pair<base::Duration, const char*>, 6> rows{{{30s, "30 s"},
                                                                    {1500ms, "1.5 s"},
                                                                    {300ms, "300 ms"},
                                                                    {1000000s, "1000000 s"},
                                                                    {3600s, "3600 s"},
                                                                    {0s, "0 ms"}}};
  for (const auto& [d, want] : rows) EXPECT_EQ(in_words(d), want);
}

TEST(Words, CountAndOrder) {
  EXPECT_EQ(counted(1, "check"), "1 check");
  EXPECT_EQ(counted(5, "failure"), "5 failures");
  const std::array<std::pair<std::uint64_t, const char*>, 8> rows{{{1, "first"},
                                                                   {2, "second"},
                                                                   {10, "tenth"},
                                                                   {11, "11th"},
                                                                   {21, "21st"},
                                                                   {22, "22nd"},
                                                                   {103, "103rd"},
                                                                   {112, "112th"}}};
  for (const auto& [n, want] : rows) EXPECT_EQ(ordinal(n), want);
}

}  // namespace
}  // namespace steelyard::health
