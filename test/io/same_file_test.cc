// Two names of one file, by whichever way they come to it.
#include "steelyard/io/same_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "test/io/scratch.h"

namespace steelyard::io {
namespace {

TEST(SameFile, IsFoundThroughLinksAndOddPaths) {
  const Scratch scratch;
  std::ofstream(scratch / "a") << "x";
  std::ofstream(scratch / "b") << "x";
  std::filesystem::create_directory(scratch / "dir");
  std::filesystem::create_hard_link(scratch / "a", scratch / "hard");
  std::filesystem::create_symlink(scratch / "a", scratch / "soft");
  std::filesystem::create_directory_symlink(scratch / "dir", scratch / "linked");
  EXPECT_TRUE(same_file(scratch / "a", scratch / "a"));
  EXPECT_TRUE(same_file(scratch / "a", scratch / "dir/../a"));
  EXPECT_TRUE(same_file(scratch / "a", scratch / "hard"));
  EXPECT_TRUE(same_file(scratch / "soft", scratch / "a"));
  EXPECT_FALSE(same_file(scratch / "a", scratch / "b")) << "alike, but two";
  EXPECT_TRUE(same_file(scratch / "dir/new", scratch / "linked/new")) << "not there yet";
  EXPECT_FALSE(same_file(scratch / "dir/new", scratch / "dir/newer"));
  EXPECT_FALSE(same_file(scratch / "a", scratch / "dir/new"));
  EXPECT_TRUE(is_special_file(scratch / "dir"));
  EXPECT_FALSE(is_special_file(scratch / "a"));
  EXPECT_FALSE(is_special_file(scratch / "missing"));
}

}  // namespace
}  // namespace steelyard::io
