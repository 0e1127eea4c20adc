#include "steelyard/pick/cursors.h"

#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

struct Fixture {
  Rig rig{1, 1, 1};
  base::Rng rng{41};
  Cursors cursors;
  std::uint64_t number = 0;

  std::unique_ptr<const Table> table(
      const std::vector<std::pair<std::string, std::string_view>>& upstreams) {
    auto model = std::make_shared<model::Table>();
    model->number = ++number;
    std::vector<Chosen> chosen;
    for (const auto& [name, kind] : upstreams) {
      model->upstreams.push_back(rig.upstream);
      model->upstreams.back().name = name;
      chosen.emplace_back(find(kind));
    }
    return Table::make(model, chosen);
  }
  std::string picks(const Table& from, std::size_t upstream, int count) {
    cursors.adopt(from, rng);
    std::string out;
    for (int i = 0; i < count; ++i)
      out += static_cast<char>('a' + *cursors.pick(from, upstream, rig.input(), rng));
    return out;
  }
};

TEST(PickTable, HoldsOnePickerForEachUpstreamOfItsKind) {
  Fixture f;
  const auto table = f.table({{"x", "round_robin"}, {"y", "p2c"}});
  ASSERT_EQ(table->pickers.size(), 2U);
  EXPECT_EQ(table->kinds[1]->name, "p2c");
  EXPECT_EQ(table->model->upstreams[1].name, "y");
}

TEST(Cursors, CarryEachUpstreamOverByNameWhateverItsPlace) {
  Fixture f;
  const std::string x = f.picks(*f.table({{"x", "round_robin"}, {"y", "round_robin"}}), 0, 2);
  const std::string y =
      f.picks(*f.table({{"y", "round_robin"}, {"x", "round_robin"}, {"z", "round_robin"}}), 0, 1);
  const auto third = f.table({{"z", "round_robin"}, {"x", "round_robin"}, {"y", "round_robin"}});
  const auto next = [](char c) {
    return std::string(1, static_cast<char>('a' + (c - 'a' + 1) % 3));
  };
  EXPECT_EQ(f.picks(*third, 1, 1), next(x[1]));
  EXPECT_EQ(f.picks(*third, 2, 1), next(y[0]));
}

TEST(Cursors, BeginAnewWhenThePickerIsOfAnotherKind) {
  Fixture f;
  for (const Kind& first : kinds()) {
    for (const Kind& second : kinds()) {
      EXPECT_EQ(f.picks(*f.table({{"x", first.name}}), 0, 3).size(), 3U);
      EXPECT_EQ(f.picks(*f.table({{"x", second.name}}), 0, 3).size(), 3U);
    }
  }
}

TEST(Cursors, AdoptingTheSameTableTwiceChangesNothing) {
  Fixture f;
  const auto table = f.table({{"x", "smooth_weighted_round_robin"}});
  const auto seen = f.picks(*table, 0, 3);
  EXPECT_EQ(f.picks(*table, 0, 3), seen);  // three equal nodes: the period is three
}

}  // namespace
}  // namespace steelyard::pick
