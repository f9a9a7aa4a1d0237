// The compaction pipeline through all three entrances: every way in which a compaction can end,
// what its caller does about it (S17), what is told, journaled and asked of the model, and what
// becomes of inputs that were accepted while it ran (S3, S27, S28, S30).
#include <algorithm>
#include <ostream>

#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/world.hpp"

namespace rind {
namespace {

using kit::asks_for;
using kit::hangs;
using kit::says;
using kit::scripted_reply;
using kit::text_of_tokens;

constexpr auto steering_text = "Also mind the tests.";
constexpr auto follow_up_text = "Then write it down.";

enum class entrance { manual, automatic, on_error };

/// What stands in the session before the operation.
enum class history {
  rich,      // three turns that are worth a summary
  tiny,      // nothing that could be summarised
  no_gain,   // one unit to summarise, about as long as its summary
  oversized, // more than a request to the summary model may hold
};

/// What happens to the append of the boundary.
enum class commit { works, fails, conflicts_once, conflicts_twice };

/// When the inputs are sent that are queued.
enum class queue { nothing, with_the_command, while_it_runs };

struct row {
  const char* name;
  entrance by;
  history before = history::rich;
  std::vector<scripted_reply> summaries{}; // the last one again and again
  commit boundary = commit::works;
  enum class stop { none, waiting, running } cancel = stop::none;
  queue inputs = queue::while_it_runs;
  std::int64_t tool_result_tokens = 0; // the model asks for a tool first, which answers that much
  std::int64_t arguments_tokens = 0;   // of that call
  std::int64_t system_prompt_tokens = 0;
  std::int64_t refused = 1; // on_error: conversation requests that are refused

  // -- what is right --
  const char* answer;  // the response
  const char* events;  // in order
  const char* journal; // entries of the operation, in order
  std::int64_t conversation_calls = 0;
  std::int64_t summary_calls = 0;
  std::int64_t boundaries = 0;
  const char* steering = ""; // what became of it
  const char* follow_up = "";
};

void PrintTo(const row& r, std::ostream* out) {
  *out << r.name;
}

// -- short words, so that a row can be read ----------------------------------------

std::string short_words(std::string line) {
  static const std::vector<std::pair<std::string, std::string>> words{
      {"queued_input_delivered", "input"},
      {"assistant_message_completed", "assistant"},
      {"context_compacted:llm_inline", "compacted"},
      {"context_compacted:deterministic_fallback", "compacted_by_code"},
      {"context_compacted:context_rescue", "rescued"},
      {"compaction_started", "compacting"},
      {"compaction_ended:", "ended:"},
      {"context_built", "built"},
      {"turn_step_retry", "retry"},
      {"tool_call_started", "runs"},
      {"tool_requested", "requested"},
      {"tool_result", "result"},
      {"turn_started", "start"},
      {"turn_completed", "completed"},
      {"turn_failed:", "failed:"},
      {"turn_cancelled:", "cancelled:"},
      {"turn_ended", "end"},
      {"user_message", "user"},
      {"assistant_message", "assistant"},
      {"input_accepted", "accepted"},
      {"input_delivered", "delivered"},
      {"usage_recorded", "usage"},
      {"attempt_started", "attempt"},
  };
  for (const auto& [from, to] : words)
    for (auto at = line.find(from); at != std::string::npos; at = line.find(from, at + to.size()))
      line.replace(at, from.size(), to);
  return line;
}

// -- one run of a row --------------------------------------------------------------

kit::world_options options_for(const row& r) {
  kit::world_options o;
  if (r.cancel == row::stop::waiting)
    o.settings.compaction.summaries_at_once_max = 1;
  if (r.before == history::oversized && r.by == entrance::on_error) {
    // What is sent is under the hard limit, but more than the summary model takes.
    o.settings.compaction.model = "model-tiny";
    o.settings.compaction.auto_compact = false;
  }
  return o;
}

class scene {
public:
  explicit scene(const row& r) : row_(r), world_(options_for(r)) {
    world_.model().serve([](const sampling_request&) { return says("Yes."); });
    prepare();
  }

  void prepare() {
    const bool move = row_.before == history::oversized && row_.by != entrance::on_error;
    ann_ =
        &world_.client("s1", move ? "model-big" : "model-a",
                       row_.system_prompt_tokens ? text_of_tokens(row_.system_prompt_tokens) : "");
    switch (row_.before) {
    case history::rich:
      say(2'100, 3);
      break;
    case history::tiny:
      break;
    case history::no_gain:
      say(900, 1);
      break;
    case history::oversized:
      if (move) {
        say(2'100, 6);
        ann_->set_model("model-a");
      } else {
        say(1'000, 6);
      }
      break;
    }
    if (row_.by == entrance::manual && row_.before == history::no_gain)
      say(10, 1);
    if (row_.cancel == row::stop::waiting)
      take_the_only_place();
    world_.run();
    entries_before_ = world_.journal_of("s1").size();
    generation_before_ = generation();
    conversation_before_ = world_.model().calls(sampling_kind::assistant);
    summaries_before_ = world_.model().calls(sampling_kind::compact);
    ann_->forget_events();
  }

  void play() {
    script();
    if (row_.by == entrance::manual)
      compacted_ = ann_->compact();
    else
      prompted_ = ann_->prompt(text_of_tokens(prompt_tokens()));
    if (row_.inputs == queue::with_the_command)
      send_inputs();
    world_.run(); // until the summary is asked for, or to the end
    if (row_.inputs == queue::while_it_runs)
      send_inputs();
    world_.run();
    spoil_the_commit();
    if (row_.cancel != row::stop::none)
      cancelled_ = ann_->cancel();
    ASSERT_TRUE(world_.time().advance_until([this] { return answered(); }, 300'000));
    world_.run();
  }

  void check() {
    EXPECT_EQ(answer(), row_.answer);
    EXPECT_EQ(short_words(kit::line_of(ann_->events())), row_.events);
    EXPECT_EQ(short_words(kit::line_of(entries())), row_.journal);
    EXPECT_EQ(world_.model().calls(sampling_kind::assistant) - conversation_before_,
              row_.conversation_calls);
    EXPECT_EQ(world_.model().calls(sampling_kind::compact) - summaries_before_, row_.summary_calls);
    EXPECT_EQ(generation() - generation_before_, row_.boundaries);
    EXPECT_EQ(fate_of(steering_text), row_.steering);
    EXPECT_EQ(fate_of(follow_up_text), row_.follow_up);
    if (row_.cancel != row::stop::none) {
      EXPECT_EQ(cancelled_.said(), "ok");
    }
    check_view();
    check_turn_ids();
    if (holder_)
      holder_->cancel();
    world_.advance(1'000);
  }

private:
  void say(std::int64_t tokens, int times) {
    for (int i = 0; i < times; ++i) {
      auto said = ann_->prompt(text_of_tokens(tokens));
      world_.run();
      EXPECT_TRUE(said.ok()) << said.said();
    }
  }

  /// Another session summarises and does not come to an end.
  void take_the_only_place() {
    holder_ = &world_.client("s2");
    for (int i = 0; i < 3; ++i) {
      holder_->prompt(text_of_tokens(2'100));
      world_.run();
    }
    world_.model().expect_summary(hangs());
    holder_->compact();
    world_.run();
  }

  std::int64_t prompt_tokens() const {
    const bool fills = row_.by == entrance::automatic && row_.before == history::rich;
    return fills ? 3'700 : 20;
  }

  void script() {
    auto& m = world_.model();
    if (row_.tool_result_tokens > 0 || row_.arguments_tokens > 0) {
      m.expect(asks_for({kit::make_call(
          "c1", "look", "{\"q\":\"" + text_of_tokens(row_.arguments_tokens) + "\"}")}));
      world_.tool().expect(kit::answers(text_of_tokens(row_.tool_result_tokens)));
    }
    if (row_.by == entrance::on_error)
      m.expect(kit::refuses_length(), static_cast<std::size_t>(row_.refused));
    if (row_.summaries.empty())
      return;
    auto replies = row_.summaries;
    while (static_cast<std::int64_t>(replies.size()) < row_.summary_calls)
      replies.push_back(replies.back());
    for (auto& r : replies)
      if (row_.cancel != row::stop::waiting)
        m.expect_summary(r);
  }

  void send_inputs() {
    steered_ = ann_->steer(steering_text);
    followed_ = ann_->follow_up(follow_up_text);
  }

  void spoil_the_commit() {
    switch (row_.boundary) {
    case commit::works:
      break;
    case commit::fails:
      world_.refuse_append();
      break;
    case commit::conflicts_twice: // between the two the usage of the first summary is journaled
      world_.refuse_append(3, error_code::persistence_conflict);
      [[fallthrough]];
    case commit::conflicts_once:
      world_.refuse_append(1, error_code::persistence_conflict);
      break;
    }
  }

  bool answered() const {
    return row_.by == entrance::manual ? compacted_.arrived() : prompted_.arrived();
  }

  std::string answer() const {
    if (row_.by == entrance::manual)
      return compacted_.said();
    return prompted_.ok() ? to_string(prompted_.value().outcome) : prompted_.said();
  }

  std::vector<entry_ptr> entries() {
    auto all = world_.journal_of("s1");
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(entries_before_));
    if (entries_before_ == 0 && !all.empty())
      all.erase(all.begin()); // session_created
    return all;
  }

  std::int64_t generation() { return world_.projection_of("s1").view().generation; }

  /// Once delivered, once handed back, or refused: whatever else is a fault and reads like one.
  std::string fate_of(const std::string& text) {
    const auto& asked = text == steering_text ? steered_ : followed_;
    if (row_.inputs == queue::nothing)
      return "";
    std::string fate = asked.ok() ? "" : asked.said();
    for (const auto& e : entries()) {
      if (const auto* d = std::get_if<entries::input_delivered>(&e->body);
          d && d->msg->content == text)
        fate += "delivered";
      if (const auto* end = std::get_if<entries::turn_ended>(&e->body))
        for (const auto& u : end->undelivered)
          if (u.text == text)
            fate += "handed back";
    }
    return fate;
  }

  /// The live view is what a restart makes of the journal, and it is whole (S8, S11).
  void check_view() {
    auto live = ann_->snapshot();
    world_.run();
    ASSERT_TRUE(live->has_value());
    const auto rebuilt = world_.projection_of("s1");
    EXPECT_EQ(kit::shown(*(*live)->view), kit::shown(rebuilt.view()));
    EXPECT_EQ(rebuilt.structure_fault(), std::nullopt);
    EXPECT_FALSE(rebuilt.operation().has_value());
    EXPECT_TRUE(rebuilt.pending().empty());
  }

  /// One operation, one turn id (S27, S28).
  void check_turn_ids() {
    for (const auto& e : ann_->events())
      EXPECT_EQ(e->turn_id, ann_->events().front()->turn_id);
  }

  const row& row_;
  kit::world world_;
  kit::scripted_client* ann_ = nullptr;
  kit::scripted_client* holder_ = nullptr;
  kit::awaited<std::shared_ptr<const compaction_record>> compacted_;
  kit::awaited<actors::prompt_outcome> prompted_;
  kit::awaited<actors::queued_answer> steered_;
  kit::awaited<actors::queued_answer> followed_;
  kit::awaited<done> cancelled_;
  std::size_t entries_before_ = 0;
  std::int64_t generation_before_ = 0;
  std::int64_t conversation_before_ = 0;
  std::int64_t summaries_before_ = 0;
};

// -- the table ---------------------------------------------------------------------

scripted_reply summary() {
  return says("The user wants the parser done.").counted(6'000, 12).after(50);
}

scripted_reply as_long_as_the_corpus() {
  return says(text_of_tokens(870)).counted(1'200, 870).after(50);
}

scripted_reply broken_server() {
  return kit::refuses(provider_error_class::server_error).after(50);
}

constexpr auto delivered = "delivered";
constexpr auto handed_back = "handed back";

std::vector<row> manual_rows() {
  const auto by = entrance::manual;
  const auto well = "start compacting compacted ended:committed input built assistant "
                    "input built assistant completed";
  const auto by_code = "start compacting compacted_by_code ended:committed input built assistant "
                       "input built assistant completed";
  const auto journal =
      "start accepted accepted boundary delivered assistant delivered assistant end";
  const auto failed_journal = "start accepted accepted end";
  std::vector<row> rows;
  rows.push_back({.name = "success",
                  .by = by,
                  .summaries = {summary()},
                  .answer = "ok",
                  .events = well,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "empty",
                  .by = by,
                  .summaries = {says("").after(50)},
                  .answer = "ok",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "truncated",
                  .by = by,
                  .summaries = {summary().finished(finish_reason::length)},
                  .answer = "ok",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "provider_error",
                  .by = by,
                  .summaries = {broken_server()},
                  .answer = "ok",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 4,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "provider_timeout",
                  .by = by,
                  .summaries = {hangs()},
                  .answer = "ok",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "cancelled_before",
                  .by = by,
                  .cancel = row::stop::waiting,
                  .answer = "Cancelled",
                  .events = "start compacting ended:cancelled cancelled:user",
                  .journal = failed_journal,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back({.name = "cancelled_during",
                  .by = by,
                  .summaries = {hangs()},
                  .cancel = row::stop::running,
                  .answer = "Cancelled",
                  .events = "start compacting ended:cancelled cancelled:user",
                  .journal = failed_journal,
                  .summary_calls = 1,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back({.name = "persistence_error",
                  .by = by,
                  .summaries = {summary()},
                  .boundary = commit::fails,
                  .answer = "persistence_failed",
                  .events = "start compacting ended:persistence_failed failed:persistence_failed",
                  .journal = failed_journal,
                  .summary_calls = 1,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back(
      {.name = "conflict",
       .by = by,
       .summaries = {summary()},
       .boundary = commit::conflicts_once,
       .answer = "persistence_conflict",
       .events = "start compacting ended:persistence_conflict failed:persistence_conflict",
       .journal = "start accepted accepted usage end",
       .summary_calls = 1,
       .steering = handed_back,
       .follow_up = handed_back});
  rows.push_back({.name = "too_large",
                  .by = by,
                  .before = history::oversized,
                  .inputs = queue::with_the_command,
                  .answer = "compact_input_too_large",
                  .events = "start compacting ended:compact_input_too_large "
                            "failed:compact_input_too_large",
                  .journal = failed_journal,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back({.name = "nothing_to_compact",
                  .by = by,
                  .before = history::tiny,
                  .inputs = queue::with_the_command,
                  .answer = "NothingToCompact",
                  .events = "",
                  .journal = "",
                  .steering = "TurnNotActive",
                  .follow_up = "TurnNotActive"});
  rows.push_back({.name = "no_gain",
                  .by = by,
                  .before = history::no_gain,
                  .summaries = {as_long_as_the_corpus()},
                  .answer = "no_gain",
                  .events = "start compacting ended:no_gain failed:no_gain",
                  .journal = "start accepted accepted usage end",
                  .summary_calls = 1,
                  .steering = handed_back,
                  .follow_up = handed_back});
  return rows;
}

std::vector<row> automatic_rows() {
  const auto by = entrance::automatic;
  const auto well = "start built compacting compacted ended:committed input built assistant "
                    "input built assistant completed";
  const auto by_code =
      "start built compacting compacted_by_code ended:committed input built assistant "
      "input built assistant completed";
  const auto journal =
      "start user accepted accepted boundary delivered assistant delivered assistant end";
  const auto failed_journal = "start user accepted accepted end";
  std::vector<row> rows;
  rows.push_back({.name = "success",
                  .by = by,
                  .summaries = {summary()},
                  .answer = "completed",
                  .events = well,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "empty",
                  .by = by,
                  .summaries = {says("").after(50)},
                  .answer = "completed",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "truncated",
                  .by = by,
                  .summaries = {summary().finished(finish_reason::length)},
                  .answer = "completed",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "provider_error",
                  .by = by,
                  .summaries = {broken_server()},
                  .answer = "completed",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 4,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "provider_timeout",
                  .by = by,
                  .summaries = {hangs()},
                  .answer = "completed",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 2,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "cancelled_before",
                  .by = by,
                  .cancel = row::stop::waiting,
                  .answer = "cancelled",
                  .events = "start built compacting ended:cancelled cancelled:user",
                  .journal = failed_journal,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back({.name = "cancelled_during",
                  .by = by,
                  .summaries = {hangs()},
                  .cancel = row::stop::running,
                  .answer = "cancelled",
                  .events = "start built compacting ended:cancelled cancelled:user",
                  .journal = failed_journal,
                  .summary_calls = 1,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back(
      {.name = "persistence_error",
       .by = by,
       .summaries = {summary()},
       .boundary = commit::fails,
       .answer = "failed",
       .events = "start built compacting ended:persistence_failed failed:persistence_failed",
       .journal = failed_journal,
       .summary_calls = 1,
       .steering = handed_back,
       .follow_up = handed_back});
  rows.push_back(
      {.name = "conflict_once",
       .by = by,
       .summaries = {summary()},
       .boundary = commit::conflicts_once,
       .answer = "completed",
       .events = "start built compacting ended:persistence_conflict built compacting compacted "
                 "ended:committed input built assistant input built assistant completed",
       .journal = "start user accepted accepted usage boundary delivered assistant delivered "
                  "assistant end",
       .conversation_calls = 2,
       .summary_calls = 2,
       .boundaries = 1,
       .steering = delivered,
       .follow_up = delivered});
  rows.push_back({.name = "conflict_twice",
                  .by = by,
                  .summaries = {summary()},
                  .boundary = commit::conflicts_twice,
                  .answer = "failed",
                  .events = "start built compacting ended:persistence_conflict built compacting "
                            "ended:persistence_conflict failed:persistence_conflict",
                  .journal = "start user accepted accepted usage usage end",
                  .summary_calls = 2,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back({.name = "too_large",
                  .by = by,
                  .before = history::oversized,
                  .inputs = queue::with_the_command,
                  .answer = "failed",
                  .events = "start input built compacting ended:compact_input_too_large "
                            "failed:compact_input_too_large",
                  .journal = "start user accepted accepted delivered end",
                  .steering = delivered,
                  .follow_up = handed_back});
  rows.push_back(
      {.name = "nothing_to_compact_under_the_hard_limit",
       .by = by,
       .before = history::tiny,
       .inputs = queue::nothing,
       .tool_result_tokens = 9'800,
       .answer = "completed",
       .events =
           "start built assistant requested runs result built compacting ended:nothing_to_compact "
           "built assistant completed",
       .journal = "start user assistant requested result assistant end",
       .conversation_calls = 2});
  rows.push_back(
      {.name = "nothing_to_compact_over_the_hard_limit",
       .by = by,
       .before = history::tiny,
       .inputs = queue::nothing,
       .tool_result_tokens = 12'000,
       .answer = "completed",
       .events =
           "start built assistant requested runs result built compacting rescued ended:committed "
           "built assistant completed",
       .journal = "start user assistant requested result boundary assistant end",
       .conversation_calls = 2,
       .boundaries = 1});
  rows.push_back(
      {.name = "nothing_to_compact_and_nothing_to_shorten",
       .by = by,
       .before = history::tiny,
       .inputs = queue::nothing,
       .arguments_tokens = 2'000,
       .system_prompt_tokens = 9'400,
       .answer = "failed",
       .events =
           "start built assistant requested runs result built compacting ended:nothing_to_compact "
           "failed:context_budget_exceeded",
       .journal = "start user assistant requested result end",
       .conversation_calls = 1});
  rows.push_back(
      {.name = "no_gain",
       .by = by,
       .before = history::no_gain,
       .summaries = {as_long_as_the_corpus()},
       .inputs = queue::nothing,
       .tool_result_tokens = 8'900,
       .answer = "completed",
       .events = "start built assistant requested runs result built compacting ended:no_gain built "
                 "assistant completed",
       .journal = "start user assistant requested result usage assistant end",
       .conversation_calls = 2,
       .summary_calls = 1});
  return rows;
}

std::vector<row> on_error_rows() {
  const auto by = entrance::on_error;
  const auto well = "start built compacting compacted ended:committed retry built assistant "
                    "input built assistant input built assistant completed";
  const auto by_code = "start built compacting compacted_by_code ended:committed retry built "
                       "assistant input built assistant input built assistant completed";
  const auto journal =
      "start user attempt accepted accepted boundary assistant delivered assistant "
      "delivered assistant end";
  const auto failed_journal = "start user attempt accepted accepted end";
  std::vector<row> rows;
  rows.push_back({.name = "success",
                  .by = by,
                  .summaries = {summary()},
                  .answer = "completed",
                  .events = well,
                  .journal = journal,
                  .conversation_calls = 4,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "empty",
                  .by = by,
                  .summaries = {says("").after(50)},
                  .answer = "completed",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 4,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "truncated",
                  .by = by,
                  .summaries = {summary().finished(finish_reason::length)},
                  .answer = "completed",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 4,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "provider_error",
                  .by = by,
                  .summaries = {broken_server()},
                  .answer = "completed",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 4,
                  .summary_calls = 4,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "provider_timeout",
                  .by = by,
                  .summaries = {hangs()},
                  .answer = "completed",
                  .events = by_code,
                  .journal = journal,
                  .conversation_calls = 4,
                  .summary_calls = 1,
                  .boundaries = 1,
                  .steering = delivered,
                  .follow_up = delivered});
  rows.push_back({.name = "cancelled_before",
                  .by = by,
                  .cancel = row::stop::waiting,
                  .answer = "cancelled",
                  .events = "start built compacting ended:cancelled cancelled:user",
                  .journal = failed_journal,
                  .conversation_calls = 1,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back({.name = "cancelled_during",
                  .by = by,
                  .summaries = {hangs()},
                  .cancel = row::stop::running,
                  .answer = "cancelled",
                  .events = "start built compacting ended:cancelled cancelled:user",
                  .journal = failed_journal,
                  .conversation_calls = 1,
                  .summary_calls = 1,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back(
      {.name = "persistence_error",
       .by = by,
       .summaries = {summary()},
       .boundary = commit::fails,
       .answer = "failed",
       .events = "start built compacting ended:persistence_failed failed:persistence_failed",
       .journal = failed_journal,
       .conversation_calls = 1,
       .summary_calls = 1,
       .steering = handed_back,
       .follow_up = handed_back});
  rows.push_back(
      {.name = "conflict_once",
       .by = by,
       .summaries = {summary()},
       .boundary = commit::conflicts_once,
       .answer = "completed",
       .events = "start built compacting ended:persistence_conflict compacting compacted "
                 "ended:committed retry built assistant input built assistant input built "
                 "assistant completed",
       .journal = "start user attempt accepted accepted usage boundary assistant delivered "
                  "assistant delivered assistant end",
       .conversation_calls = 4,
       .summary_calls = 2,
       .boundaries = 1,
       .steering = delivered,
       .follow_up = delivered});
  rows.push_back({.name = "conflict_twice",
                  .by = by,
                  .summaries = {summary()},
                  .boundary = commit::conflicts_twice,
                  .answer = "failed",
                  .events = "start built compacting ended:persistence_conflict compacting "
                            "ended:persistence_conflict failed:persistence_conflict",
                  .journal = "start user attempt accepted accepted usage usage end",
                  .conversation_calls = 1,
                  .summary_calls = 2,
                  .steering = handed_back,
                  .follow_up = handed_back});
  rows.push_back({.name = "too_large",
                  .by = by,
                  .before = history::oversized,
                  .inputs = queue::with_the_command,
                  .answer = "failed",
                  .events = "start input built compacting ended:compact_input_too_large "
                            "failed:compact_input_too_large",
                  .journal = "start user accepted accepted delivered attempt end",
                  .conversation_calls = 1,
                  .steering = delivered,
                  .follow_up = handed_back});
  rows.push_back({.name = "nothing_to_compact_and_nothing_to_rescue",
                  .by = by,
                  .before = history::tiny,
                  .inputs = queue::with_the_command,
                  .answer = "failed",
                  .events = "start input built compacting ended:nothing_to_compact "
                            "failed:context_length_exhausted",
                  .journal = "start user accepted accepted delivered attempt attempt end",
                  .conversation_calls = 1,
                  .steering = delivered,
                  .follow_up = handed_back});
  rows.push_back(
      {.name = "nothing_to_compact_then_rescue",
       .by = by,
       .before = history::tiny,
       .inputs = queue::nothing,
       .tool_result_tokens = 8'000,
       .answer = "completed",
       .events = "start built assistant requested runs result built compacting "
                 "ended:nothing_to_compact retry built rescued assistant completed",
       .journal = "start user assistant requested result attempt attempt boundary assistant end",
       .conversation_calls = 3,
       .boundaries = 1});
  rows.push_back(
      {.name = "no_gain_then_rescue",
       .by = by,
       .before = history::no_gain,
       .summaries = {as_long_as_the_corpus()},
       .inputs = queue::nothing,
       .tool_result_tokens = 7'000,
       .answer = "completed",
       .events = "start built assistant requested runs result built compacting ended:no_gain retry "
                 "built rescued assistant completed",
       .journal = "start user assistant requested result attempt usage attempt boundary assistant "
                  "end",
       .conversation_calls = 3,
       .summary_calls = 1,
       .boundaries = 1});
  return rows;
}

class pipeline_matrix : public testing::TestWithParam<row> {};

TEST_P(pipeline_matrix, S17_each_entrance_and_each_outcome) {
  scene s{GetParam()};
  s.play();
  s.check();
}

std::string name_of(const testing::TestParamInfo<row>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(manual, pipeline_matrix, testing::ValuesIn(manual_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(automatic, pipeline_matrix, testing::ValuesIn(automatic_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(context_length_error, pipeline_matrix, testing::ValuesIn(on_error_rows()),
                         name_of);

} // namespace
} // namespace rind
