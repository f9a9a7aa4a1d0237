// `rind sim` as a user runs it: the same seed in two processes, a failure made small and played
// again from its file, and what is refused.
#include <csignal>

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
  kit::write_file(path, R"({"world":{"name":"one prompt, and a wrong expectation"}}
{"do":"prompt","session":"s1","id":"1","tokens":100}
{"do":"prompt","session":"s0","id":"2","tokens":100}
{"do":"prompt","session":"s0","id":"3","tokens":100,"settles":true}
{"expect":"s0","view_lacks":["s0:i3"]}
)");
  const auto ran =
      host_.run({"sim", "--scenario", path, "--minimize", "--failures", host_.file("")});
  EXPECT_EQ(ran.exit_code, 1);
  const std::string what = "expectation: s0: the view holds \"s0:i3\"; newest end: turn_completed";
  EXPECT_NE(ran.output.find(what), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("BROKEN: expectation"), std::string::npos) << ran.output;
  // The same failure and no other: without its prompt the view would lack it.
  const auto smallest = kit::read_file(host_.file("wrong-smallest.jsonl"));
  EXPECT_NE(smallest.find("\"id\":\"3\""), std::string::npos) << smallest;
  EXPECT_EQ(smallest.find("\"id\":\"2\""), std::string::npos) << smallest;
  EXPECT_EQ(smallest.find("\"s1\""), std::string::npos) << smallest;
  const auto again = json_of({"--scenario", host_.file("wrong-smallest.jsonl")}, 1);
  EXPECT_EQ("expectation: " + again.at("breaches").at(0).at("what").get<std::string>(), what);
  EXPECT_EQ(again.at("breaches").at(0).at("line"), 2);
}

TEST_F(sim, a_run_that_is_interrupted_prints_what_it_has) {
  const auto o = host_.options(
      {"-c", "exec " RIND_PROGRAM " sim --seeds 1..100000000 --progress --json 2>&1"}, false);
  kit::program child("/bin/sh", o);
  ASSERT_EQ(child.pipes().next_line(), "rind sim: 0 of 100000000 runs, 0 failures");
  child.signal(SIGINT);
  const auto tally = nlohmann::json::parse(child.pipes().next_line().value_or("{}"));
  EXPECT_EQ(tally.value("failures", -1), 0);
  EXPECT_LT(tally.value("runs", 100'000'000), 100'000'000);
  EXPECT_EQ(child.wait().exit_code, 130);
}

TEST_F(sim, an_answer_that_cannot_be_printed_is_a_failure) {
  for (const std::string form : {"", " --json"}) {
    kit::program_options o =
        host_.options({"-c", RIND_PROGRAM " sim --seeds 1..3" + form + " > /dev/full"}, false);
    int code = -1;
    kit::output_of("/bin/sh", o, &code);
    EXPECT_EQ(code, 1) << form;
  }
  EXPECT_NE(host_.errors().find("standard output cannot be written"), std::string::npos);
}

TEST_F(sim, a_timeline_tells_of_connections_deltas_and_retries) {
  const auto path = host_.file("told.jsonl");
  kit::write_file(path, R"({"world":{"shuffled":false}}
{"model":"s0","error":"server_error","pieces":1}
{"do":"prompt","session":"s0","id":"1","tokens":20,"wait_ms":5000}
{"do":"disconnect","session":"s0"}
{"do":"reconnect","session":"s0"}
)");
  const auto told = host_.run({"sim", "--scenario", path, "--timeline"});
  EXPECT_EQ(told.exit_code, 0) << told.output;
  for (const auto* words :
       {"client 0 hears a delta: \"s0:r", "client 0 hears of retry 1 in",
        "the partial answer is dropped", "client 0 disconnects", "s0  client 0 connects again"})
    EXPECT_NE(told.output.find(words), std::string::npos) << words << "\n" << told.output;
  EXPECT_EQ(host_.run({"sim", "--scenario", path}).output.find("client 0"), std::string::npos);
}

TEST_F(sim, options_that_mean_nothing_are_refused) {
  kit::write_file(host_.file("good.jsonl"), "{\"do\":\"wait\"}\n");
  const std::vector<std::vector<std::string>> rows{
      {"--seeds", "9..1"},
      {"--seeds", "one"},
      {"--seeds", "1..99999999999999999999"},
      {"--faults", "plenty"},
      {"--nodes", "0"},
      {"--nodes", "17"},
      {"--sessions", "1000"},
      {"--scenario", "no-such-file.jsonl"},
      {"--scenario", ""},
      {"--scenario", host_.file("")},
      {"--scenario", "/dev/zero"},
      {"--scenario", host_.file("good.jsonl"), "--seeds", "1..2"},
      {"--scenario", host_.file("good.jsonl"), "--nodes", "2"},
      {"--scenario", host_.file("good.jsonl"), "--faults", "none"},
      {"--timeline"},
      {"--seeds", "1..2", "--timeline"},
      {"--seeds", "1", "--timeline", "--json"},
      {"--failures", "."},
      {"--minimize", "--failures", "no-such-folder"},
      {"--canaries", "--minimize"},
      {"--canaries"}};
  for (auto words : rows) {
    words.insert(words.begin(), "sim");
    EXPECT_EQ(host_.run(words).exit_code, 2) << words.at(1) << " " << words.back();
  }
  EXPECT_EQ(host_.run({"sim", "--scenario", host_.file("good.jsonl")}).exit_code, 0);
}

} // namespace
} // namespace rind::e2e
