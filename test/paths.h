// Where the source tree and the program under test are. Only paths.cc is compiled with these
// places, so that every other object file is the same in each checkout and a compiler cache can
// share it.
#pragma once

#include <string>
#include <string_view>

namespace steelyard::test {

std::string source_path(std::string_view name);  // of a file or folder of the source tree
std::string binary();                            // the steelyard of this build

}  // namespace steelyard::test
