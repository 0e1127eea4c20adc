#include <exception>
#include <fmt/core.h>

#include "steelyard/cli/command.h"

// Our own code throws nothing; what a library throws ends here.
int main(int argc, char** argv) {
  try {
    return steelyard::cli::main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "steelyard: {}\n", error.what());
    return steelyard::cli::kFailure;
  }
}
