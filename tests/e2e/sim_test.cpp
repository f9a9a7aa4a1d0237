// `rind sim` as a user runs it: the same seed in two processes, a failure made small and played
// again from its file, and what is refused.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

class sim : public testing::Test {
protected:
  nlohmann::json json_of(std::vector<std::string> options, int exit_code = 0) {
    options.insert(options.begin(), "sim");
    options.push_back("--json");
    const auto ran = host_.run(options);
    EXPECT_EQ(ran.exit_code, exit_code) << ran.output;
    return nlohmann::json::parse(ran.output);
  }
  lone_host host_;
};

TEST_F(sim, the_same_seeds_go_the_same_way_in_two_processes) {
  for (const char* nodes : {"1", "3"}) {
    const auto first = json_of({"--seeds", "15..25", "--nodes", nodes});
    const auto second = json_of({"--seeds", "15..25", "--nodes", nodes});
    EXPECT_EQ(first.at("trace_hash"), second.at("trace_hash"));
    EXPECT_NE(first.at("trace_hash"), json_of({"--seeds", "16..26"}).at("trace_hash"));
    EXPECT_EQ(first.at("deliveries"), second.at("deliveries"));
    EXPECT_EQ(first.at("runs"), 11);
    EXPECT_EQ(first.at("failures"), 0);
    EXPECT_GT(first.at("operations").get<int>(), 11 * 4);
  }
}

TEST_F(sim, what_a_scenario_expects_in_vain_is_made_small_and_played_again) {
  const auto path = host_.file("wrong.jsonl");
  std::ofstream{path} << R"({"world":{"name":"one prompt, and a wrong expectation"}}
{"do":"prompt","session":"s1","id":"1","tokens":100}
{"do":"prompt","session":"s0","id":"2","tokens":100}
{"expect":"s0","last":"turn_cancelled:user"}
)";
  const auto ran =
      host_.run({"sim", "--scenario", path, "--minimize", "--failures", host_.file("")});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(
      ran.output.find("expectation: s0: last: turn_completed in place of turn_cancelled:user"),
      std::string::npos)
      << ran.output;
  EXPECT_NE(ran.output.find("BROKEN: expectation"), std::string::npos) << ran.output;
  std::ifstream smallest{host_.file("sim-failure-1.jsonl")};
  std::stringstream text;
  text << smallest.rdbuf();
  EXPECT_NE(text.str().find("\"expect\""), std::string::npos) << text.str();
  EXPECT_EQ(text.str().find("\"s1\""), std::string::npos) << text.str();
  const auto again = json_of({"--scenario", host_.file("sim-failure-1.jsonl")}, 1);
  EXPECT_EQ(again.at("breaches").at(0).at("invariant"), "expectation");
}

TEST_F(sim, options_that_mean_nothing_are_refused) {
  for (const auto& options :
       std::vector<std::vector<std::string>>{{"--seeds", "9..1"},
                                             {"--seeds", "one"},
                                             {"--seeds", "1..99999999999999999999"},
                                             {"--faults", "plenty"},
                                             {"--nodes", "0"},
                                             {"--sessions", "1000"},
                                             {"--scenario", "no-such-file.jsonl"},
                                             {"--canaries"}}) {
    auto words = options;
    words.insert(words.begin(), "sim");
    EXPECT_EQ(host_.run(words).exit_code, 2) << options.back();
  }
}

} // namespace
} // namespace rind::e2e
