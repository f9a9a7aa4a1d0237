// Scenarios as data: written and read back, refused where they are none, drawn from seeds, made
// smaller. And the runs: the same scenario gives the same trace, message for message.
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/kit/scenario/draw.hpp"
#include "tests/kit/scenario/minimize.hpp"
#include "tests/kit/scenario/player.hpp"

namespace rind::kit {
namespace {

result<scenario> read(const std::string& text) {
  std::istringstream in{text};
  return read_scenario(in);
}

scenario drawn(std::uint64_t seed, std::size_t nodes = 1) {
  draw_options o;
  o.seed = seed;
  o.nodes = nodes;
  return draw(o);
}

TEST(scenario, reading_back_what_was_written_gives_the_same_scenario) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto s = drawn(seed, 1 + seed % 3);
    s.world.max_output_tokens = 500;
    s.world.no_auto_compact = {"s0", "s1"};
    model_line thoughtful;
    thoughtful.session = "s0";
    thoughtful.thinks_tokens = 20;
    s.model.push_back(std::move(thoughtful));
    expect_line e;
    e.session = "s0";
    e.last = "turn_completed";
    e.samplings = 3;
    e.answers["1"] = "ok";
    e.events_have = {"turn_started"};
    e.compactions = {"manual:llm_inline"};
    e.undelivered.emplace(); // none, which is looked at
    s.script.emplace_back(std::move(e));
    const auto back = read(to_json_lines(s));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, s) << seed;
  }
}

TEST(scenario, a_file_that_is_none_is_refused_with_line_and_field) {
  struct row {
    const char* text;
    const char* says;
  };
  const row rows[]{
      {"", "empty"},
      {"# only a comment\n", "empty"},
      {"[]", "line 1: a line is a JSON object"},
      {"{", "line 1: it is no JSON"},
      {R"({"do":"dance"})", "line 1: \"do\" may not be \"dance\""},
      {R"({"do":"prompt","tokens":-1})", "line 1: \"tokens\" may not be -1"},
      {R"({"do":"prompt","session":"s0","id":"1","id":"2"})", "\"id\" stands in it twice"},
      {R"({"world":{"seed":1,"seed":2}})", "\"seed\" stands in it twice"},
      {R"({"do":"prompt","tokens":1e99})", "\"tokens\" may not be 1e+99"},
      {R"({"do":"prompt","colour":1})", "unknown key \"colour\""},
      {"{\"world\":{}}\n{\"world\":{}}", "line 2: \"world\" stands in the first line only"},
      {R"({"world":{"nodes":0}})", "\"nodes\" is 1 to 16"},
      {R"({"world":{"journal":"paper"}})", "\"journal\" is memory or sqlite"},
      {R"({"model":"s0","error":"tired"})", "\"error\" may not be \"tired\""},
      {R"({"model":"s0","finish":"never"})", "\"finish\" may not be \"never\""},
      {R"({"world":{"token_ratio":0}})", "\"token_ratio\" may not be 0"},
      {R"({"key":1})", "one of world, model, tool, do and expect"},
  };
  for (const auto& r : rows) {
    const auto s = read(r.text);
    ASSERT_FALSE(s) << r.text;
    EXPECT_EQ(s.error().code, error_code::invalid_request);
    EXPECT_NE(s.error().message.find(r.says), std::string::npos) << s.error().message;
  }
  EXPECT_FALSE(read(std::string(scenario_line_limit_bytes + 1, ' ') + "x"));
  EXPECT_FALSE(read(std::string(1'000, '[')));
}

TEST(scenario, seeds_that_lie_beside_one_another_give_different_scenarios) {
  EXPECT_EQ(drawn(7), drawn(7));
  for (std::uint64_t seed = 1; seed < 50; ++seed)
    EXPECT_NE(to_json_lines(drawn(seed)).substr(80), to_json_lines(drawn(seed + 1)).substr(80));
}

TEST(scenario, the_smallest_one_holds_only_what_the_failure_needs) {
  const auto has = [](const scenario& s, action what) {
    return std::any_of(s.script.begin(), s.script.end(), [&](const auto& l) {
      const auto* step = std::get_if<step_line>(&l);
      return step && step->what == what;
    });
  };
  draw_options o;
  for (o.seed = 1; !has(draw(o), action::crash) || !has(draw(o), action::compact);)
    ++o.seed;
  const auto smallest = minimize(
      draw(o), [&](const scenario& s) { return has(s, action::crash) && has(s, action::compact); });
  EXPECT_EQ(smallest.script.size(), 2u) << to_json_lines(smallest);
  EXPECT_TRUE(smallest.model.empty() && smallest.tools.empty()) << to_json_lines(smallest);
}

TEST(scenario, what_does_not_fail_stays_as_it_is) {
  const auto s = drawn(3);
  EXPECT_EQ(minimize(s, [](const scenario&) { return false; }), s);
}

/// Seeds of each kind: some with a database on a disk, some with several nodes.
class same_run : public testing::TestWithParam<int> {};

TEST_P(same_run, of_a_seed_has_the_same_trace) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  const auto s = drawn(seed, seed % 5 == 0 ? 3 : 1);
  const auto first = play(s);
  const auto second = play(s, {true, {}});
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.counts, second.counts);
  EXPECT_GT(second.timeline.size(), 20u);
  EXPECT_NE(first.trace_hash, play(drawn(seed + 1)).trace_hash);
  EXPECT_FALSE(first.failure) << first.failure->invariant << ": " << first.failure->what;
}

INSTANTIATE_TEST_SUITE_P(seeds, same_run, testing::Values(1, 2, 3, 5, 10, 20, 40));

TEST(player, an_expectation_that_does_not_hold_fails_the_run) {
  const std::string script = R"({"world":{"shuffled":false}}
{"do":"prompt","session":"s0","id":"1","tokens":20}
)";
  EXPECT_FALSE(
      play(*read(script + R"({"expect":"s0","last":"turn_completed","samplings":1})")).failure);
  const auto r =
      play(*read(script + R"({"expect":"s0","samplings":2,"answers":{"1":"Cancelled"}})"));
  ASSERT_TRUE(r.failure);
  EXPECT_EQ(r.failure->invariant, "expectation");
  EXPECT_EQ(r.failure->what,
            "s0: samplings: 1 in place of 2; answer to 1: ok in place of Cancelled; newest end: "
            "turn_completed");
  EXPECT_EQ(r.failure->line, 2u);
}

TEST(player, each_expectation_can_fail) {
  const std::string script = R"({"world":{"shuffled":false,"system_prompt_tokens":20}}
{"model":"s0","tokens":10,"thinks_tokens":10,"calls":1}
{"do":"prompt","session":"s0","id":"1","tokens":900,"settles":true}
{"do":"prompt","session":"s0","id":"2","tokens":900,"settles":true}
{"do":"compact","session":"s0","settles":true}
)";
  struct row {
    const char* holds;
    const char* fails;
    const char* says;
  };
  const row rows[]{
      {R"("resumes":0)", R"("resumes":1)", "resumes: 0 in place of 1; "},
      {R"("tool_runs":1)", R"("tool_runs":0)", "tool_runs: 1 in place of 0; "},
      {R"("compactions":["manual:llm_inline"])", R"("compactions":["auto:llm_inline"])",
       R"(compactions: ["manual:llm_inline"] in place of ["auto:llm_inline"]; )"},
      {R"("undelivered":[])", R"("undelivered":["1"])", R"(undelivered: [] in place of ["1"]; )"},
      {R"("request_has":["s0:y","s0:i1","s0:k1","s0-c1-1","s0:t1","s0:i2"])",
       R"("request_has":["s0:i2","s0:i1"])", R"(the newest request lacks "s0:i1" at its place; )"},
      {R"("request_lacks":["s0:i3"])", R"("request_lacks":["s0:i2"])",
       R"(the newest request holds "s0:i2"; )"},
      {R"("summary_has":["s0:i1","s0:i2"])", R"("summary_has":["s0:y"])",
       R"(the newest summary request lacks "s0:y" at its place; )"},
      {R"("summary_lacks":["s0:k1"])", R"("summary_lacks":["s0:t1"])",
       R"(the newest summary request holds "s0:t1"; )"},
      {R"("view_lacks":["s0:i1"])", R"("view_has":["s0:i1"])",
       R"(the view lacks "s0:i1" at its place; )"},
  };
  for (const auto& r : rows) {
    const std::string expect = R"({"expect":"s0",)";
    const auto held = play(*read(script + expect + r.holds + "}"));
    EXPECT_FALSE(held.failure) << r.holds << ": " << held.failure->what;
    const auto failed = play(*read(script + expect + r.fails + "}"));
    ASSERT_TRUE(failed.failure) << r.fails;
    EXPECT_EQ(failed.failure->what, std::string{"s0: "} + r.says + "newest end: turn_completed");
  }
}

TEST(player, what_is_expected_at_once_does_not_wait) {
  const std::string script = R"({"world":{"shuffled":false}}
{"model":"s0","tokens":10,"after_ms":1000}
{"do":"prompt","session":"s0","id":"1","tokens":20,"wait_ms":500}
{"expect":"s0","at_once":true,"samplings":1,"answers":{"1":"nothing"}}
{"expect":"s0","answers":{"1":"ok"}}
)";
  const auto r = play(*read(script));
  EXPECT_FALSE(r.failure) << r.failure->what;
}

TEST(player, S4_a_cancel_is_ok_once_its_end_is_written_and_unavailable_where_that_is_refused) {
  const std::string begin = R"({"world":{"shuffled":false}}
{"model":"s0","hangs":true}
{"do":"prompt","session":"s0","id":"1","tokens":20,"run":60}
)";
  const std::string end = R"({"do":"cancel","session":"s0"}
{"expect":"s0","answers":{"cancel":)";
  const auto written = play(*read(begin + end + R"("ok","1":"ok"},"last":"turn_cancelled:user"})"));
  EXPECT_FALSE(written.failure) << written.failure->what;
  const auto refused = play(*read(begin + R"({"do":"refuse_append"})" + "\n" + end +
                                  R"("Unavailable","1":"Unavailable"},"last":""})"));
  EXPECT_FALSE(refused.failure) << refused.failure->what;
}

} // namespace
} // namespace rind::kit
