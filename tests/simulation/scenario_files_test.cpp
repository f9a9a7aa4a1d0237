// The scenarios of tests/data/scenarios: faults that were met in the field, by their number, and
// the shortest story of each fault that the simulation found; and the seeds in which it found them.
// Each is played and has to hold.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/kit/scenario/draw.hpp"
#include "tests/kit/scenario/player.hpp"

namespace rind::kit {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& file : std::filesystem::directory_iterator{RIND_TEST_DATA "/scenarios"})
    if (file.path().extension() == ".jsonl")
      all.push_back(file.path().stem());
  std::sort(all.begin(), all.end());
  return all;
}

result<scenario> load(const std::string& name) {
  std::ifstream in{RIND_TEST_DATA "/scenarios/" + name + ".jsonl"};
  return read_scenario(in);
}

class scenario_file : public testing::TestWithParam<std::string> {};

TEST_P(scenario_file, holds) {
  const auto s = load(GetParam());
  ASSERT_TRUE(s) << s.error().message;
  const auto r = play(*s, {true, {}});
  if (!r.failure)
    return;
  std::string told;
  for (const auto& line : r.timeline)
    told += line + "\n";
  ADD_FAILURE() << r.failure->invariant << ": " << r.failure->what << "\n" << told;
}

/// One from the field says what has to come of it; each says what it is about.
TEST_P(scenario_file, says_what_it_is_about) {
  const auto s = load(GetParam());
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_FALSE(s->world.name.empty());
  const auto expects = std::any_of(s->script.begin(), s->script.end(), [](const auto& l) {
    return std::holds_alternative<expect_line>(l);
  });
  EXPECT_EQ(expects, GetParam().front() == 'F');
}

/// A later change of what is drawn makes another life of a seed; it costs nothing to play it still.
TEST(past_seeds, hold) {
  std::ifstream in{RIND_TEST_DATA "/past_seeds.jsonl"};
  int played = 0;
  for (std::string line; std::getline(in, line); ++played) {
    const auto row = nlohmann::json::parse(line);
    draw_options o;
    o.seed = row.at("seed");
    o.nodes = row.at("nodes");
    o.faults = row.at("faults") == "many" ? fault_level::many : fault_level::some;
    const auto r = play(draw(o));
    EXPECT_FALSE(r.failure) << line << "\n" << r.failure->invariant << ": " << r.failure->what;
  }
  EXPECT_GE(played, 5);
}

INSTANTIATE_TEST_SUITE_P(of, scenario_file, testing::ValuesIn(names()),
                         [](const auto& row) { return row.param; });

} // namespace
} // namespace rind::kit
