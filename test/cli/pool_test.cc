#include "steelyard/cli/pool.h"

#include <gtest/gtest.h>

#include "steelyard/config/load.h"

namespace steelyard::cli {
namespace {

config::Document document_with(const std::string& pool, const std::string& limit) {
  const auto loaded = config::load(
      "listeners: [{ address: 127.0.0.1:8080, routes: [{ upstream: a }] }]\n"
      "pool: { connections: " +
          pool +
          " }\n"
          "upstreams: { a: { nodes: [127.0.0.1:1], limits: { max_in_flight: " +
          limit + " } } }\n",
      "f");
  EXPECT_TRUE(loaded.ok()) << loaded.report();
  return loaded.document.value_or(config::Document{});
}

TEST(Pool, SaysWhatIsKeptAndWhatThatIsGoodFor) {
  EXPECT_EQ(pool_words(document_with("32", "0"), 4),
            "pool: 128 idle connections kept to each node (32 by each of 4 workers), good for 85 "
            "requests at a time (requests a second x latency); pool_advice in the API says what "
            "traffic needs\n");
  EXPECT_NE(pool_words(document_with("3", "0"), 1)
                .find("3 idle connections kept to each node (3 by each of 1 worker), good for 2 "),
            std::string::npos);
  EXPECT_EQ(pool_words(document_with("0", "0"), 4), "pool: no connection to a node is kept\n");
}

TEST(Pool, ALimitAboveWhatIsKeptIsToldWithTheValueThatWouldDo) {
  const auto told = small_pools(document_with("32", "130"), 4);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].first, "upstreams.a.limits.max_in_flight");
  EXPECT_EQ(told[0].second,
            "is 130, but 128 connections to a node are kept (32 by each of 4 workers): at the "
            "limit others are opened anew each time; pool.connections: 33 would do");
  EXPECT_TRUE(small_pools(document_with("33", "130"), 4).empty());
  EXPECT_TRUE(small_pools(document_with("32", "128"), 4).empty()) << "all of them are kept";
  EXPECT_TRUE(small_pools(document_with("32", "0"), 4).empty()) << "no limit is no number";
  EXPECT_TRUE(small_pools(document_with("0", "130"), 4).empty()) << "config tells of no pool";
}

}  // namespace
}  // namespace steelyard::cli
