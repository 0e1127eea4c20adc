// What a Config makes of the options for its workers.

#include <gtest/gtest.h>

#include "steelyard/proxy/head_facts.h"
#include "steelyard/proxy/published.h"

namespace steelyard::proxy {
namespace {

std::shared_ptr<const Config> config_of(request::RouteOptions route, std::uint32_t workers) {
  route.upstream = "api";
  ListenerOptions listener;
  listener.address = base::Address::loopback(80);
  listener.routes.push_back(std::move(route));
  return Config::make(1, {}, {listener}, {}, workers);
}

TEST(Configs, WorkersShareNoRegularExpression) {
  request::RouteOptions by_path;
  by_path.match.path_regex = "/v[0-9]+/.*";
  request::RouteOptions by_header;
  by_header.match.headers.entries.push_back({"X-A", {.regex = "a+"}});
  const http::Head none;
  const HeadFacts facts(none, {});
  for (const auto& route : {by_path, by_header}) {
    const auto config = config_of(route, 4);
    const auto& listener = config->listeners.at(0);
    ASSERT_EQ(listener.routers.size(), 4U);
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      EXPECT_EQ(&listener.router(worker), &listener.routers[worker]);
    }
  }
  const auto config = config_of(by_path, 4);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    const auto& router = config->listeners[0].router(worker);
    EXPECT_EQ(router.match({"t", "/v12/x", "GET"}, facts), 0U);
    EXPECT_EQ(router.match({"t", "/vx/x", "GET"}, facts), std::nullopt);
  }
}

TEST(Configs, WithoutRegularExpressionsAllWorkersHaveOneRouter) {
  const auto config = config_of({}, 4);
  const auto& listener = config->listeners.at(0);
  EXPECT_EQ(listener.routers.size(), 1U);
  EXPECT_EQ(&listener.router(3), &listener.router(0));
}

TEST(Configs, KnowWhetherTheLogWantsFieldsOfAnswers) {
  Options options;
  for (const auto& [format, wants] :
       {std::pair{"combined", false}, std::pair{"json", true},
        std::pair{"$status $sent_http_etag", true}, std::pair{"$status $http_etag", false}}) {
    options.log.format = format;
    EXPECT_EQ(Config::make(1, options, {})->log_answer_heads, wants) << format;
  }
}

}  // namespace
}  // namespace steelyard::proxy
