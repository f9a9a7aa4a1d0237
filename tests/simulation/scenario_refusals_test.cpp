// What a scenario may not say: each rule with the words of its refusal, once.
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/kit/scenario/draw.hpp"
#include "tests/kit/scenario/player.hpp"
#include "tests/kit/scenario/scenario_rules.hpp"

namespace rind::kit {
namespace {

result<scenario> read(const std::string& text) {
  std::istringstream in{text};
  return read_scenario(in);
}

std::string lines(std::initializer_list<const char*> all) {
  std::string text;
  for (const auto* line : all)
    text += std::string{line} + "\n";
  return text;
}

struct refusal_row {
  std::string text;
  const char* says; // the whole message
};

const refusal_row refusals[]{
    // the world
    {R"({"world":{"nodes":17}})", R"(scenario, line 1: "nodes" is 1 to 16)"},
    {R"({"world":{"window_tokens":0}})", R"(scenario, line 1: "window_tokens" is 1 to 1000000000)"},
    {R"({"world":{"threshold_percent":0}})",
     R"(scenario, line 1: "threshold_percent" is 1 to 100)"},
    {R"({"world":{"threshold_percent":101}})",
     R"(scenario, line 1: "threshold_percent" is 1 to 100)"},
    {R"({"world":{"summaries_at_once":0}})",
     R"(scenario, line 1: "summaries_at_once" is 1 to 1000)"},
    {R"({"world":{"token_ratio":101}})", R"(scenario, line 1: "token_ratio" is at most 100)"},
    {R"({"world":{"max_output_tokens":0}})",
     R"(scenario, line 1: "max_output_tokens" is 1 to 1000000000)"},
    {R"({"world":{"system_prompt_tokens":250001}})",
     R"(scenario, line 1: "system_prompt_tokens" is 0 to 250000)"},
    {R"({"world":{"compaction_model":"model-z"}})",
     R"(scenario, line 1: "compaction_model" is model-a, model-big or model-tiny)"},
    {lines({R"({"world":{"no_auto_compact":["s7"]}})", R"({"do":"prompt","session":"s0"})"}),
     R"(scenario: "world" names the session "s7", and no line does)"},
    {lines({R"({"world":{"nodes":2,"journal":"sqlite"}})", R"({"do":"crash"})"}),
     R"(scenario: nodes that share a disk die together: a "crash" needs one node, or the journal "memory")"},
    // answers
    {R"({"model":""})", R"(scenario, line 1: "model" is 1 to 64 letters, digits, _ or -)"},
    {R"({"model":"a b"})", R"(scenario, line 1: "model" is 1 to 64 letters, digits, _ or -)"},
    {R"({"model":"s0","tokens":250001})", R"(scenario, line 1: "tokens" is 0 to 250000)"},
    {R"({"model":"s0","thinks_tokens":250001})",
     R"(scenario, line 1: "thinks_tokens" is 0 to 250000)"},
    {R"({"model":"s0","calls":129})", R"(scenario, line 1: "calls" is 0 to 128)"},
    {R"({"model":"s0","tokens":1,"pieces":10001})", R"(scenario, line 1: "pieces" is 0 to 10000)"},
    {R"({"model":"s0","pieces":3})",
     R"(scenario, line 1: "pieces" are of a text or of an "error")"},
    {R"({"model":"s0","after_ms":2592000001})",
     R"(scenario, line 1: "after_ms" is 0 to 2592000000)"},
    {R"({"model":"s0","retry_after_s":3})",
     R"(scenario, line 1: "message", "states_window_tokens" and "retry_after_s" are of an "error")"},
    {R"({"model":"s0","error":"auth","tokens":3})",
     R"(scenario, line 1: a line with an "error" has no answer: no says, tokens, thinks_tokens, calls, finish or input_tokens)"},
    {R"({"model":"s0","says":"as s1:r3 said"})",
     R"(scenario, line 1: "says" holds "s1:r3", the mark of another session)"},
    {R"({"tool":"s0","tokens":250001})", R"(scenario, line 1: "tokens" is 0 to 250000)"},
    {R"({"tool":"s0","says":"s1:t3 "})",
     R"(scenario, line 1: "says" holds "s1:t3", the mark of another session)"},
    // steps
    {R"({"do":"prompt"})", R"(scenario, line 1: "prompt" needs a "session")"},
    {R"({"do":"crash","session":"s0"})",
     R"(scenario, line 1: "session" is nothing that "crash" takes)"},
    {R"({"do":"crash","number":1})", R"(scenario, line 1: "number" is 0 to 0)"},
    {R"({"do":"refuse_append","number":0})", R"(scenario, line 1: "number" is 1 to 1000000)"},
    {R"({"do":"slow_commits","number":60001})", R"(scenario, line 1: "number" is 0 to 60000)"},
    {R"({"do":"cancel","session":"s0","number":1})",
     R"(scenario, line 1: "number" is nothing that "cancel" takes)"},
    {R"({"do":"lose_runner","number":1})",
     R"(scenario, line 1: "number" is nothing that "lose_runner" takes)"},
    {R"({"do":"cancel","session":"s0","text":"x"})",
     R"(scenario, line 1: "text" is nothing that "cancel" takes)"},
    {R"({"do":"compact","session":"s0","tokens":3})",
     R"(scenario, line 1: "tokens" is nothing that "compact" takes)"},
    {R"({"do":"prompt","session":"s0","model":"model-a"})",
     R"(scenario, line 1: "model" is nothing that "prompt" takes)"},
    {R"({"do":"set_model","session":"s0"})", R"(scenario, line 1: "set_model" needs a "model")"},
    {R"({"do":"disconnect","session":"s0","id":"1"})",
     R"(scenario, line 1: "id" is nothing that "disconnect" takes)"},
    {R"({"do":"prompt","session":"s0","id":"a b"})",
     R"(scenario, line 1: "id" is 1 to 64 letters, digits, _ or -)"},
    {R"({"do":"prompt","session":"s0","id":"last"})",
     R"(scenario, line 1: "id" may not be "last": so is the prompt called by which a run ends)"},
    {R"({"do":"prompt","session":"s0","text":"s1:i1 "})",
     R"(scenario, line 1: "text" holds "s1:i1", the mark of another session)"},
    {R"({"do":"wait","run":1000001})", R"(scenario, line 1: "run" is 0 to 1000000)"},
    {R"({"do":"wait","wait_ms":2592000001})", R"(scenario, line 1: "wait_ms" is 0 to 2592000000)"},
    {[] {
       std::string text;
       for (int i = 0; i < 13; ++i)
         text += "{\"do\":\"wait\",\"wait_ms\":2592000000}\n";
       return text;
     }(),
     R"(scenario: all "wait_ms" together may be 31536000000 ms)"},
    // expectations
    {R"({"expect":"s0"})", "scenario, line 1: it expects nothing"},
    {R"({"expect":"s0","at_once":true})", "scenario, line 1: it expects nothing"},
    {R"({"expect":"","turns":1})",
     R"(scenario, line 1: "expect" is 1 to 64 letters, digits, _ or -)"},
    {R"({"expect":"s0","last":"turn_failed"})",
     R"(scenario, line 1: "last" may not be "turn_failed": it is turn_completed, turn_failed:CODE or turn_cancelled:REASON)"},
    {R"({"expect":"s0","last":"turn_cancelled:boredom"})",
     R"(scenario, line 1: "last" may not be "turn_cancelled:boredom": it is turn_completed, turn_failed:CODE or turn_cancelled:REASON)"},
    {R"({"expect":"s0","answers":{"1":"fine"}})",
     R"(scenario, line 1: "answers" may not be "fine": each is ok, lost, nothing or the type of an error)"},
    {R"({"expect":"s0","compactions":["manual"]})",
     R"(scenario, line 1: "compactions" may not hold "manual": each is REASON:STRATEGY)"},
    {R"({"expect":"s0","events_have":["turn_over"]})",
     R"(scenario, line 1: "events_have" may not hold "turn_over", which is no type of an event)"},
    {R"({"expect":"s0","events_lack":["turn_over"]})",
     R"(scenario, line 1: "events_lack" may not hold "turn_over", which is no type of an event)"},
    // lines
    {R"({"do":"wait","run":1,"run":2})", R"(scenario, line 1: "run" stands in it twice)"},
    {R"({"expect":"s0","answers":{"1":"ok","1":"lost"}})",
     R"(scenario, line 1: "1" stands in it twice)"},
    {"# a comment\n\n" + std::string(scenario_line_limit_bytes + 1, 'x'),
     "scenario, line 3: it is longer than 1048576 bytes"},
};

TEST(scenario_rules, each_names_its_line_and_what_is_allowed) {
  for (const auto& row : refusals) {
    const auto s = read(row.text);
    ASSERT_FALSE(s) << row.text.substr(0, 200);
    EXPECT_EQ(s.error().code, error_code::invalid_request);
    EXPECT_EQ(s.error().message, row.says);
  }
}

TEST(scenario_rules, the_bounds_themselves_are_allowed) {
  const auto s =
      read(lines({R"({"world":{"nodes":16,"threshold_percent":100,"summaries_at_once":1}})",
                  R"({"model":"s0-c1","tokens":250000,"calls":128,"pieces":10000})",
                  R"({"do":"crash","number":15})", R"({"do":"slow_commits","number":60000})",
                  R"({"do":"cancel","session":"s0-c1","id":"stop"})",
                  R"({"do":"prompt","session":"s0","text":"as s0:i1 said"})",
                  R"({"do":"wait","session":"s0","wait_ms":2592000000})"}));
  EXPECT_TRUE(s) << s.error().message;
}

TEST(scenario_rules, an_endless_line_is_not_read_to_its_end) {
  std::ifstream zeros{"/dev/zero"};
  const auto s = read_scenario(zeros);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message, "scenario, line 1: it is longer than 1048576 bytes");
}

TEST(scenario_rules, what_cannot_be_read_is_an_error) {
  std::ifstream folder{RIND_TEST_DATA};
  ASSERT_FALSE(read_scenario(folder));
}

TEST(scenario_rules, no_seed_draws_what_may_not_be) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    for (const std::size_t nodes : {1, 3}) {
      draw_options o;
      o.seed = seed;
      o.nodes = nodes;
      EXPECT_EQ(fault_of(draw(o)), "") << seed;
    }
}

TEST(scenario_rules, a_scenario_that_was_made_and_not_read_is_looked_at_too) {
  scenario s;
  step_line l;
  l.what = action::crash;
  l.number = 3;
  s.script.emplace_back(l);
  const auto r = play(s);
  ASSERT_TRUE(r.failure);
  EXPECT_EQ(r.failure->invariant, "scenario");
  EXPECT_EQ(r.failure->what, "\"number\" is 0 to 0");
}

TEST(scenario_rules, the_types_of_events_are_those_of_the_protocol) {
  std::ifstream in{RIND_TEST_DATA "/../../docs/protocol.md"};
  std::stringstream page;
  page << in.rdbuf();
  const auto text = page.str();
  const auto begin = text.find("\n## Events");
  ASSERT_NE(begin, std::string::npos);
  const auto table = text.substr(begin, text.find("\n## ", begin + 1) - begin);
  std::vector<std::string> documented;
  const std::regex row{"\n\\| `([a-z_]+)`(?:, `([a-z_]+)`)?(?: \\*\\*D\\*\\*)? \\|"};
  for (std::sregex_iterator i{table.begin(), table.end(), row}, end; i != end; ++i)
    for (int group = 1; group <= 2; ++group)
      if ((*i)[group].matched)
        documented.push_back((*i)[group]);
  for (const auto type : event_types())
    EXPECT_NE(std::find(documented.begin(), documented.end(), type), documented.end()) << type;
  EXPECT_GE(documented.size(), event_types().size());
}

} // namespace
} // namespace rind::kit
