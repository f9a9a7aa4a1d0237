// Runs the inputs of a folder through a fuzz target, for builds without libFuzzer. Fails without
// inputs; a broken promise aborts.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/targets.hpp"

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& file : std::filesystem::directory_iterator{argv[i]}) {
      std::ifstream stream{file.path(), std::ios::binary};
      const std::vector<char> bytes{std::istreambuf_iterator<char>{stream}, {}};
      std::printf("%s\n", file.path().filename().c_str()); // the last one is the one that broke
      std::fflush(stdout);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++inputs;
    }
  std::printf("%zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;
}
