// Tests of a session with a model that says what the test tells it: no network, no threads, no
// waiting, and the same order of events at each run. The kit is installed as rind::testkit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/googletest.hpp"
#include "tests/kit/simulation/world.hpp"

namespace {

using namespace rind;
using testing::HasSubstr;

TEST(scripted_session, answers_a_prompt) {
  kit::world w;
  auto& ann = w.client("greetings");
  w.model().expect(kit::says("Hello, Ann."));
  const auto answer = ann.prompt("Hi, I am Ann.");
  w.run();
  EXPECT_EQ(answer.said(), "ok");
  EXPECT_EQ(kit::line_of(ann.events()),
            "turn_started context_built assistant_message_completed turn_completed");
}

TEST(scripted_session, waits_out_a_provider_that_is_overloaded) {
  kit::world w;
  auto& ann = w.client("patience");
  w.model().expect(kit::refuses(provider_error_class::overloaded)).expect(kit::says("Here I am."));
  const auto answer = ann.prompt("Are you there?");
  w.run();
  EXPECT_EQ(answer.said(), "pending"); // a retry is due, and time stands still
  w.advance(10'000);
  EXPECT_EQ(answer.said(), "ok");
  EXPECT_EQ(w.model().calls(sampling_kind::assistant), 2);
}

TEST(scripted_session, recovers_from_a_refused_length_by_compacting) {
  kit::world w;
  auto& ann = w.client("long_story");
  w.model().expect(kit::says("Once upon a time.")).expect(kit::says("There was a well."));
  (void)ann.prompt(std::string(8'000, 'a'));
  w.run();
  (void)ann.prompt("Go on.");
  w.run();
  ann.forget_events();

  w.model().expect(kit::refuses_length()).expect(kit::says("The end."));
  w.model().expect_summary(kit::says("A story about a well."));
  const auto answer = ann.prompt("Go on.");
  w.run();
  EXPECT_EQ(answer.said(), "ok");
  EXPECT_THAT(kit::line_of(ann.events()), HasSubstr("context_compacted"));
  EXPECT_EQ(w.projection_of("long_story").boundaries().size(), 1u);
  EXPECT_EQ(w.projection_of("long_story").last_text(), "The end.");
}

} // namespace
